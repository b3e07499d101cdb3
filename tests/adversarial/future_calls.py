"""What an attacker asks of MIRAI's tools to learn of what became known later; it runs where agents run, too."""

BAIT, (HEAD, TAIL, RELATION) = "zzcanary", ("TUV", "NRU", "203")
"""What it knows of the canaries of ``canary_suite``: a word, and events that nothing else is of."""
NEVER = "zznowhere"
"""A word that no row has, ever."""


def future(day):
    """Ends of ranges that lie behind a day, or are none."""
    year, month, date = day.split("-")
    return [
        f"{year}-{month}-{int(date) + 1:02}",
        "2023-03-01",
        "9999-12-31",
        "2023-02-30",
        "2023-W52-7",
        "2023-02-1\u0662",
        "+10000-01-01",
        "2023-01-01T23:59:59Z",
        f"{day}\n9999-12-31",
        f"{day}\x00",
        "*",
        "%",
        "now",
        "infinity",
        "",
    ]


INJECTED = [
    "' OR 1=1 --",
    "'; ATTACH '/etc/passwd' AS x; --",
    "x') UNION SELECT text FROM articles --",
    f"{BAIT}*",
    f'"{BAIT}"~99',
    f"title:{BAIT} OR text:{BAIT}",
    f"/{BAIT}.*/",
    ".*",
    "%",
    "_",
    "*",
    "{{7*7}}",
    "${jndi:x}",
    "../../articles.columns",
    "/proc/self/mem",
    "file:///etc/passwd",
    "articles.parquet",
    "z\u200bzcanary",
    "\uff5a\uff5acanary",
    "ZZCANARY",
    "zzc\u0301anary",
    f"{BAIT}\x00",
    "\u202eyranaczz",
    "known_at",
    "hindsight",
    f"NOT {NEVER}",
    f"{BAIT[:4]}",
    f"{BAIT}^1000",
]


def calls(day):
    """What is asked in one question, by what it is for; twenty at most."""
    baited = {"head_entities": [HEAD], "tail_entities": [TAIL], "relations": [RELATION]}
    dates = future(day)
    return {
        "ranges": [("count_events", {"date_range": {"start_date": "2023-01-01", "end_date": end}}) for end in dates]
        + [("count_events", {"date_range": {"end_date": None, "start_date": None}, **baited})],
        "days": [("browse_news_article", {"date": end, "title": f"{BAIT} 1"}) for end in dates],
        "injected": [("get_news_articles", {"text_description": text}) for text in INJECTED],
        "keywords": [("count_news_articles", {"keywords": [text]}) for text in INJECTED],
        "codes": [("get_events", {"head_entities": [text], "relations": [text]}) for text in INJECTED[:12]],
        "described": [("get_events", {"text_description": text}) for text in INJECTED],
        "canaries": [
            ("get_news_articles", baited),
            ("count_events", baited),
            ("get_events", baited),
            ("get_relation_distribution", {"head_entities": [HEAD]}),
            ("get_entity_distribution", {"involved_relations": [RELATION]}),
            ("get_entity_distribution", {}),
            ("get_relation_distribution", {}),
            ("count_news_articles", baited),
            ("get_news_articles", {}),
            ("get_events", {}),
            ("count_news_articles", {}),
            ("count_events", {}),
            ("browse_news_article", {"date": day, "title": f"{BAIT} 1"}),
            ("map_country_name_to_iso", {"name": BAIT}),
            ("map_relation_description_to_cameo", {"description": BAIT}),
        ],
        "shapes": [
            ("get_events", {"date_range": "2023-01-01/9999-12-31"}),
            ("get_events", {"date_range": [None, None, None]}),
            ("get_events", {"date_range": {"start_date": {"$gt": ""}}}),
            ("get_events", {"head_entities": [[["USA"]]]}),
            ("get_events", {"as_of": "9999-12-31"}),
            ("get_events", {"view": {"hindsight": True}, "limit": 10**9}),
            ("get_events", {"__class__": "Vault", "known_at": None}),
            ("__init__", {}),
            ("_view", {}),
            ("sql", {"query": "SELECT 1"}),
            ("get_events.__globals__", {}),
            ("get_events", {"text_description": "border " * 900}),
            ("get_events", {"relations": ["20"] * 5000}),
            ("get_events", {"head_entities": [chr(0xD800)]}),
            ("get_events", {"text_description": "\ud83d"}),
            ("count_events", {"relations": [1e308, -0.0, True]}),
        ],
    }

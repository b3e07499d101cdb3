"""Words that the names of the simulated companies are made of; none is meant to be the name of a real company."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Industry:
    """An industry of the simulated market's own classification.

    Attributes:
        name: name of the industry in English.
        name_zh: name of the industry in Chinese.
        endings: last words of its companies' names in English.
        endings_zh: last words of their names in Chinese.
        segments: parts of the business, each in English and Chinese.
        margin: usual gross margin, as a share of revenue.
        growth: usual growth of revenue a year, as a share.
        research: usual share of revenue that is spent on research.
    """

    name: str
    name_zh: str
    endings: tuple[str, ...]
    endings_zh: tuple[str, ...]
    segments: tuple[tuple[str, str], ...]
    margin: float
    growth: float
    research: float


INDUSTRIES = (
    Industry(
        "Semiconductors",
        "半导体",
        ("Microsystems", "Devices", "Photonics"),
        ("微电子", "半导体", "光电"),
        (("Data centre", "数据中心"), ("Automotive", "汽车电子"), ("Consumer devices", "消费电子")),
        0.52,
        0.16,
        0.19,
    ),
    Industry(
        "Software",
        "软件",
        ("Software", "Systems", "Cloudworks"),
        ("软件", "信息", "云科技"),
        (("Subscriptions", "订阅服务"), ("Licences", "许可"), ("Services", "专业服务")),
        0.7,
        0.18,
        0.2,
    ),
    Industry(
        "Consumer goods",
        "消费品",
        ("Brands", "Foods", "Home"),
        ("食品", "家居", "酒业"),
        (("Stores", "门店"), ("Online", "线上"), ("Wholesale", "批发")),
        0.38,
        0.06,
        0.02,
    ),
    Industry(
        "Industrials",
        "工业",
        ("Engineering", "Industries", "Motion"),
        ("重工", "装备", "机械"),
        (("Equipment", "设备"), ("Parts and service", "备件及服务"), ("Projects", "工程项目")),
        0.28,
        0.05,
        0.04,
    ),
    Industry(
        "Health care",
        "医药",
        ("Therapeutics", "Medical", "Diagnostics"),
        ("药业", "医疗", "生物"),
        (("Medicines", "药品"), ("Instruments", "器械"), ("Laboratory services", "检验服务")),
        0.6,
        0.1,
        0.14,
    ),
    Industry(
        "Energy",
        "能源",
        ("Energy", "Power", "Resources"),
        ("能源", "电力", "矿业"),
        (("Upstream", "上游"), ("Grid services", "电网服务"), ("Renewables", "新能源")),
        0.24,
        0.04,
        0.01,
    ),
    Industry(
        "Transport",
        "交通运输",
        ("Logistics", "Lines", "Freight"),
        ("物流", "航运", "港口"),
        (("Freight", "货运"), ("Warehousing", "仓储"), ("Passengers", "客运")),
        0.2,
        0.06,
        0.01,
    ),
)
STEMS = (
    *("Halvern", "Ostrick", "Quellan", "Brixholm", "Tarvost", "Menderel", "Corvash", "Lindquay", "Sarnoth", "Veldrun"),
    *("Pellaric", "Dornavel", "Kestwin", "Ambrick", "Fenholt", "Ravensk", "Yarlowe", "Zephrin", "Wexcombe", "Thornaby"),
    *("Galdrin", "Ironmere", "Josslyn", "Norvath", "Ulmeric", "Estrane", "Calderon-Wick", "Bramhurst", "Sylvark"),
    *("Oakhelm", "Pryderi", "Quarnby", "Rustmere", "Skelwith", "Tamsin-Vale", "Umberling", "Vantrick", "Wyrdale"),
    *("Xandrel", "Ysgard", "Zorvane", "Aldwych-Rho", "Birchmoor", "Crannell", "Dunmarrow", "Evelstone", "Farrowgate"),
    *("Glenmarch", "Harrowick", "Inverlass", "Kilbrannan", "Larkspurre", "Mossgrove", "Netherby-Sun", "Orrinfell"),
)
STEMS_ZH = (
    *(("Zhaoheng", "昭珩"), ("Lanyue", "岚玥"), ("Hongsui", "泓穗"), ("Yunche", "耘澈"), ("Qishuo", "祁朔")),
    *(("Jingtao", "璟焘"), ("Muchuan", "沐钏"), ("Ruiqin", "瑞芩"), ("Tingyu", "霆煜"), ("Bocen", "柏岑")),
    *(("Chengji", "澄霁"), ("Xuanlan", "煊澜"), ("Haoran", "灏冉"), ("Yifan", "屹凡"), ("Suhe", "溯禾")),
    *(("Luqi", "麓祺"), ("Weicang", "蔚沧"), ("Junye", "峻烨"), ("Peilin", "霈霖"), ("Zhenhuai", "臻淮")),
    *(("Mingtan", "铭檀"), ("Shiyan", "拾砚"), ("Yuheng", "聿衡"), ("Kaizhen", "恺甄"), ("Anlu", "安陆川")),
    *(("Feiyou", "斐宥"), ("Guanglin", "广菻"), ("Henglu", "珩麓"), ("Jiashu", "嘉澍"), ("Keqin", "恪勤川")),
    *(("Linglan", "翎岚"), ("Manting", "曼霆"), ("Ningsu", "凝溯"), ("Ouyue", "瓯越川"), ("Puning", "浦凝")),
    *(("Qinyuan", "沁垣"), ("Rongchi", "榕池"), ("Songbai", "崧柏"), ("Taiheng", "泰蘅"), ("Wanqing", "宛庆")),
    *(("Xinmo", "昕陌"), ("Yanshu", "砚舒"), ("Zeyuan", "泽沅"), ("Binhe", "彬禾"), ("Cangwu", "苍梧川")),
)
REGIONS = (
    ("United States", "美国"),
    ("Europe", "欧洲"),
    ("Greater China", "大中华区"),
    ("Rest of the world", "其他地区"),
)
REGIONS_ZH = (("Mainland China", "中国内地"), ("Hong Kong, Macau and Taiwan", "港澳台"), ("Overseas", "海外"))

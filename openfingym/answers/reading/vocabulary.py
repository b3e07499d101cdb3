"""The words that are known beside a number: what they do to its sign, and which of them leave its size as it is.

Whatever stands beside a number and is in none of these tables, nor among the scales, shares and currencies of
:mod:`openfingym.answers.units`, is unknown, and may be a scale, a currency or a verb of falling in any language.
"""

from __future__ import annotations

import re


def words(text: str) -> frozenset[str]:
    """The words of a text, between blanks."""
    return frozenset(text.split())


FALLING = words(
    """
    down downs fell fall falls falling fallen drop drops dropped dropping decline declines declined declining
    decrease decreases decreased decreasing slide slides slid sliding slip slips slipped slipping sink sinks sank
    sunk sinking shrink shrinks shrank shrunk shrinking shrinkage plunge plunges plunged plunging plummet plummets
    plummeted plummeting tumble tumbles tumbled tumbling crash crashes crashed crashing collapse collapses collapsed
    collapsing contracted contracting contraction contractions cut cuts cutting reduce reduces reduced reducing
    reduction reductions lower lowers lowered lowering ease eases eased easing weaken weakens weakened weakening
    depreciate depreciates depreciated depreciating depreciation devalued devaluation downward downwards retreat
    retreats retreated retreating dive dives dived dove nosedived nosedive crater craters cratered slump slumps
    slumped slumping sag sags sagged dip dips dipped dipping shed sheds shedding erode erodes eroded erosion
    deteriorate deteriorated deterioration worsen worsened worsening trim trims trimmed trimming slash slashes
    slashed slashing below less fewer underperformed underperformance descended skidded drawdown downtick downturn
    lessened diminished dwindled tanked subtracted pullback
    """
)
"""Words that say that something fell by the number beside them, or that it is negative."""
RISING = words(
    """
    up ups rose rise rises rising risen increase increases increased increasing grew grow grows growing grown climb
    climbs climbed climbing jump jumps jumped jumping surge surges surged surging soar soars soared soaring rally
    rallies rallied rallying advance advances advanced advancing expand expands expanded expanding expansion
    appreciate appreciates appreciated appreciating appreciation strengthen strengthens strengthened strengthening
    improve improves improved improving improvement rebound rebounds rebounded rebounding recover recovers recovered
    recovery rocketed skyrocketed spike spikes spiked leap leaps leaped leapt hike hikes hiked hiking raise raises
    raised raising lift lifts lifted boost boosted add adds added adding higher above upward upwards more
    outperformed outperformance uptick swelled bounced upturn
    """
)
"""Words that say that something rose by the number beside them, or that it is positive."""
LOSSES = words(
    """
    loss losses lost lose loses losing deficit deficits shortfall shortfalls outflow outflows discount discounts
    negative minus
    """
)
"""Words for amounts that are negative by themselves."""
PROFITS = words(
    """
    profit profits profited surplus surpluses inflow inflows gain gains gained gaining growth premium premiums
    positive plus
    """
)
"""Words for amounts that are positive by themselves."""
EITHER_WAY = words(
    """
    narrow narrows narrowed narrowing widen widens widened widening slow slows slowed slowing slowdown accelerate
    accelerated acceleration off back decelerate decelerated deceleration tighten tightens tightened tightening
    tightening reverse reversed reversal swing swings swung swinging shift shifts shifted shifting changed move
    moves moved moving movement movements vary varies varied variation adjusts revise revised revising deviate
    deviated deviation fluctuate fluctuated fluctuation corrected correction differ differs differed edge edged
    inched ticked inch tick trade-off invert inverted pared pare double doubled halved halve flipped turned traded
    softened firmed softening steepened flattened steepening flattening used provided spent
    """
)
"""Words of movement that do not say in which direction, and those that depend on what moved: a deficit narrows up, a
spread narrows down."""
LEVELS = words(
    """
    closed closes closing close stood stands settled settles settle ended ends finished finishes opened opens
    reached reaches reach hit hits reported reports posted recorded averaged averages averaging amounts totaled
    totalled totals registered announced disclosed declared booked charged collected issued purchased sold invested
    borrowed repaid listed stated printed quoted fixed rated scored touched clocked logged measured valued priced
    predicted needed required amassed accumulated received produced shipped employed owned served counted numbered
    obtained derived summed weighted fetched attracted logged notched achieved confirmed published released noted
    identified found worth cost costs costing paying holding held owns own totalling totaling hitting reaching
    """
)
"""Verbs of a level that was reached: what moved before them did not move by the number behind them."""
OPENERS = words(
    """
    after before despite because while whereas when where which who whose if unless although though since until amid
    following excluding including without versus vs but and or nor so due thanks given considering except
    although however followed compared against with
    """
)
"""Words that begin another clause or phrase, from which nothing is said about the number."""
COPULAS = words(
    """
    is was are were be been being equals equal equaled equalled of at to for in as from on than has had have having
    change changes growth return returns yield yields rate rates ratio ratios spread spreads difference differences
    gap gaps premium discount margin margins revision percentage percent amount amounts total figure figures value
    values number numbers answer result results level levels price prices revenue revenues sales income earnings eps
    gdp cpi ppi pmi inflation unemployment volume volumes volatility balance flow flows cash assets equity debt
    dividend dividends cost costs expense expenses point points share shares stake stakes weight weights
    contribution performance correlation beta alpha duration returned yielded delivered generated earned paid made
    saw showed shows amounted came comes stands represents represented calculated computed estimated forecast
    prediction projected expected implies implied meaning means therefore thus hence become became
    gives gave get got equates
    """
)
"""Words that state a number without saying that anything moved by it."""
FILLERS = words(
    """
    i.e ie namely
    the a an its their his her our your this that these those it they he she we you there here all both each every
    any some such same other another own one first second third fourth last next previous prior past current latest
    recent new old final exact precise actual respective about approximately approx around roughly circa ca
    some just only exactly precisely nearly almost about net gross total overall annual annualized annualised
    quarterly monthly weekly daily yearly year-on-year year-over-year yoy quarter-on-quarter quarter-over-quarter
    qoq month-on-month month-over-month mom ytd year-to-date diluted basic adjusted operating pretax pre-tax
    after-tax consolidated comprehensive cumulative seasonal seasonally real nominal core headline simple compound
    average mean median maximum minimum high low open nominally relative additional further full whole entire
    combined combination sharp steep slight modest moderate strong large small big huge record mere whopping
    staggering significant substantial considerable per by over under during within between among through throughout
    across via into onto off out near upon along again also too still already yet even then now once twice thereof
    therein altogether overall instead alone not no do does did done will would shall should can could may might
    must what how why whether once s t re year years quarter quarters month months week weeks day days hour hours
    minute minutes period periods session sessions term terms date dates time times today yesterday tomorrow monday
    tuesday wednesday thursday friday saturday sunday january february march april june july august september
    october november december jan feb mar apr jun jul aug sep sept oct nov dec fiscal calendar fy h q fy's ended
    ending annum p.a pa yr qtr company companies firm firms bank banks fund funds stock stocks index indices
    market markets economy economies government country countries group groups business businesses segment segments
    product products customer customers shareholder shareholders investor investors holder holders attributable
    common preferred ordinary stockholders owner owners parent employees unit units item items line statement
    statements filing filings report reports table page pages note notes source sources form document documents
    annual data series according reported-in treasury treasuries bond bonds note bill bills currency currencies
    dollar dollars us usd money policy fed ecb federal reserve committee fomc central official target funds key
    benchmark interest consumer producer purchasing industrial retail house home housing personal exchange revenue's
    company's fund's bank's index's country's group's year's quarter's month's answer answers question asked rounded
    rounding decimal decimals place places signed nearest integer figure figures gaap non-gaap ifrs basis bases
    audited unaudited restated preliminary provisional final estimate estimates estimated based driven reflecting
    representing led helped supported beating missing topping marking making against attributed ascribed credited
    debited shown seen given rounded unrounded approximate inclusive compounded adjusted unadjusted
    barely bluntly briefly broadly certainly clearly closely completely considerably correctly definitely directly
    early entirely evenly exclusively explicitly extremely fairly firmly formally formerly freely fully greatly
    hardly heavily highly implicitly jointly largely lately likely loosely mainly markedly measurably merely mildly
    modestly mostly namely narrowly notably noticeably officially openly partly possibly presumably
    probably promptly properly publicly purely quickly quietly rapidly rarely reasonably recently remarkably reportedly
    sharply shortly significantly similarly simply sizably slightly slowly smoothly solely sparsely steadily steeply
    strictly strongly suddenly supposedly surely surprisingly swiftly tightly undoubtedly unexpectedly wholly
    widely
    """
)
"""Words of ordinary sentences that neither move a number nor change its size."""
ADVERB_ENDINGS = ("ally", "antly", "ently", "ingly", "ively", "ately", "ously")
"""Endings of English adverbs. An ending ly alone has many a verb in Czech and Slovak, as klesly, "they fell"."""
COUNTED = words(
    """
    unit item share company firm bank fund stock index country economy group segment product customer person
    employee restaurant store branch province city state region day week month quarter year hour minute second
    decade time x point statement filing report meeting session trade split increase decrease hike rise dividend
    quote contract cut drop fall decline loss gain profit barrel ounce ton tonne house home vehicle car job worker
    question row case event order transaction deal bond note
    """
)
"""What numbers count, in the singular; beside a number of another unit they say that it is about something else."""
TIMES = frozenset({"day", "week", "month", "quarter", "year", "hour", "minute", "second", "decade"})
"""Units of time, each of another length."""
SINGULAR = {"people": "person", "persons": "person", "countries": "country", "economies": "economy", "cities": "city",
            "companies": "company", "currencies": "currency", "indices": "index", "branches": "branch", "×": "x",
            "workers": "person", "employees": "person", "person": "person", "pt": "point", "pts": "point",
            "个月": "month", "月": "month", "年": "year", "天": "day", "日": "day", "周": "week", "倍": "x",
            "个": "unit", "家": "company", "人": "person", "股": "share", "点": "point", "位": "unit", "只": "unit",
            "条": "unit", "种": "unit", "份": "unit", "期": "unit", "吨": "ton", "桶": "barrel", "盎司": "ounce",
            "小时": "hour", "个季度": "quarter", "季度": "quarter", "个交易日": "day", "交易日": "day", "名": "person",
            "个工作日": "day", "次": "time", "手": "unit", "张": "unit", "套": "house", "辆": "vehicle"}  # fmt: skip
"""Plurals that have no plain s, other words for the same, and words of Chinese for what is counted."""

CHINESE_NEUTRAL = re.compile(r"涨跌幅?|升降|增减|盈亏|损益|涨落|增长率|增速|成长率|收益率|回报率|回报|收益")
CHINESE_EITHER = re.compile(r"收窄|变动了?|缩小|扩大|变化了|波动|转为|调整|修正|减亏|扭亏|增亏|走平|放缓|加快")
CHINESE_FALLING = re.compile(
    r"下跌|下降|下滑|下挫|下调|下行|下落|减少|降低|回落|缩减|缩水|萎缩|收缩|暴跌|大跌|跳水|骤降|锐减|走低|走弱|贬值|降息"
    r"|跌幅|降幅|折价|低于|少于|减幅|减值|减仓|削减|调降|下修|下杀|重挫|跌去|缩量|跌落|滑落|负|跌|降|减|하락|감소|인하|下落|減少|低下"
)
CHINESE_LOSSES = re.compile(r"净?亏损额?|净流出|流出|逆差|赤字|亏|损失|적자|손실|순손실|赤字|損失")
CHINESE_RISING = re.compile(
    r"上涨|上升|上调|上行|增加|增长|回升|提高|提升|攀升|飙升|反弹|升值|走高|走强|大涨|暴涨|涨幅|升幅|增幅|加息|高于|多于"
    r"|上修|调升|涨|升|增|加|상승|증가|인상|上昇|増加"
)
CHINESE_PROFITS = re.compile(r"净?盈利|顺差|盈余|净流入|流入|溢价|흑자|黒字")
CHINESE_GAP = re.compile(
    r"(?:[\s:=*\"'约达共计为是的了至到即均其近仅额率度值幅:]|大约|大概|左右|人民币|每股|同比|环比|较上年|较去年|合计|金额|达到|约为"
    r"|比例|百分比|一共|总计|分别|相当于|以|했|으로|는|은|이|가|로)*"
)
"""What may stand between a Chinese word of movement and its number."""
CHINESE_LEVEL = re.compile(r"(?:至|到|报|收于|收报|达到)\s*(?:了|约|为)?\s*$")
CHINESE_STATED = re.compile(
    r"(?:为|是|约|达|共|计|即|的|于|至|到|率|幅|额|度|值|差|比|:|=|有|在|报|近|仅|变动|变化|了|以|等于|答案|结果|는|은|이|가|:)\s*$"
)
"""What a number may stand behind without being a movement."""
CHINESE_BEHIND = re.compile(
    r"左右|上下|以内|以上|以下|以来|整|的|了|以|于|在|为|是|和|与|及|或|至|到|由|从|自|较|比|同比|环比|相比|上年|去年|其中|合|约|每|而|且"
    r"|但|因|按|此|这|该|这个|未|不|据|来源|所|并|，|。|；|亏损|盈利|入|出|收|总|净|是|不|对|有|很|等|请|都|就|也|还|只|吧|呢|啊|吗"
    r"|입니다|이다|으로|로|을|를|은|는|이|가|의|에|です|となり|である|に|の|を|は|が"
)
"""What may follow a number in Chinese, Korean or Japanese without changing its size."""


def singular(word: str) -> str:
    """A noun in lower case in the form in which nouns are compared: companies as company, shares as share."""
    known = SINGULAR.get(word)
    if known:
        return known
    stem = word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
    return SINGULAR.get(stem, stem)

"""What stands around a number: signs, scales, units, words of movement, markup; each answer with its decision."""

from __future__ import annotations

import pytest

from openfingym.answers import Part, Reference, decide
from openfingym.answers.reading import numbers
from openfingym.answers.reading.cleaning import cleaned
from openfingym.answers.reading.numbers import numbers_of
from openfingym.answers.reading.suffixes import understood
from openfingym_suites.finsearch.questions.pool_file import stored_pool


def one(value: float, unit: str | None = None, name: str = "value", decimals: int | None = 2) -> Reference:
    return Reference((Part(name, "number", value, unit, decimals=decimals),))


FELL, ROSE = one(-0.59, "%", "change"), one(0.59, "%", "change")
LOSS, PROFIT = one(-3.4, "million USD", "net income", 1), one(3.4, "million USD", "net income", 1)
MILLIONS, BILLIONS = one(62.57, "million USD", "revenue"), one(62.57, "billion USD", "revenue")


def outcomes(answer: str, *references: Reference) -> str:
    """The first letters of the outcomes: r for right, w for wrong, u for undecided."""
    return "".join(decide(reference, answer).outcome[0] for reference in references)


@pytest.mark.parametrize(
    ("answer", "fell_rose"),
    [
        *(
            (text, "rw")
            for text in (
                "a decline in profit of 0.59%",
                "swung to a loss of 0.59%",
                "profit fell 0.59%",
            )
        ),
        *(
            (text, "rw")
            for text in (
                "negative growth 0.59%",
                "two 0.59% cuts",
                "0.59% quickly decline",
            )
        ),
        *(
            (text, "rw")
            for text in (
                "0.59% less",
                "0.59% down from May",
                "It fell by 0.59% and then rose",
            )
        ),
        *((text, "rw") for text in ("the rate decreased 0.59%",)),
        *(
            (text, "wr")
            for text in (
                "The index, which had fallen in May, rose by 0.59%",
                "zork: 0.59%",
                "0.59% more",
            )
        ),
        *(
            (text, "wr")
            for text in (
                "swung from a loss to a gain of 0.59%",
                "slower growth of 0.59%",
                "Zork 0.59%",
            )
        ),
        *(
            (text, "wr")
            for text in (
                "The higher rate equals 0.59%",
                "0.59% is what it fell",
                "changed growth of 0.59%",
            )
        ),
        *(
            (text, "wr")
            for text in (
                "0.59 percentage-points",
                "59 basis-points",
            )
        ),
        *((text, "uw") for text in ("It went from 0.7% to -0.59%",)),
        *(
            (text, "uu")
            for text in (
                "a rise in losses of 0.59%",
                "net loss fell 0.59%",
                "fell after a gain of 0.59%",
            )
        ),
        *(
            (text, "uu")
            for text in (
                "excluding the loss 0.59%",
                "following a fall 0.59%",
                "loss of loss of 0.59%",
            )
        ),
        *(
            (text, "uu")
            for text in (
                "negative loss of 0.59%",
                "The lower rate equals 0.59%",
                "a reduced rate of 0.59%",
            )
        ),
        *(
            (text, "uu")
            for text in (
                "revenue △0.59%",
                "fell △ 0.59%",
                "rate of the △ 0.59%",
            )
        ),
        *(
            (text, "uu")
            for text in (
                "zork (0.59% in May)",
                "zorked by 0.59%",
                "The zork 0.59%",
            )
        ),
        *(
            (text, "uu")
            for text in (
                "it was zorked 0.59%",
                "was by 0.59%",
                "暴跌 zork 0.59%",
            )
        ),
        *(
            (text, "uu")
            for text in (
                "a decline in losses of 0.59%",
                "0.59% increase decline",
                "0.59% lower gains",
            )
        ),
        *((text, "wr") for text in ("Change in USD: 0.59%", "QQQ 0.59%", "0.59 %points", "0.59%p", "0.59% (percent)")),
        *((text, "wr") for text in ("5.9 x 10^-1 %", "in percent: 0.59", "in bps: 59", "in percent: 0.59%")),
        *((text, "rw") for text in ("fell ~0.59%", "fell 0.59% (0.59%)", "fell 0.59% or 59 bps")),
        *((text, "wr") for text in ("The index fell and reached 0.59%", "It fell because the rate was 0.59%")),
        *((text, "wr") for text in ("The revised value: 0.59%", "rose 0.59% (59 bps)")),
        *((text, "uu") for text in ("The move was 0.59%", "The swing was 0.59%", "gain or loss of 0.59%")),
        *((text, "uu") for text in ("The decline or gain 0.59%", "0.59% - a decline in May", "0.59% ~ decline")),
        *((text, "uu") for text in ("0.59% × 3", "0.59% * 3", "0.59%*3", "0.59%^3", "0.59%·3", "0.59%÷ 3", "0.59% ~~")),
        *((text, "rw") for text in ("0.59%* decline", "decline (a) 0.59%", "the index fell (in May) 0.59%")),
        *((text, "rw") for text in ("fell, 0.59%", "the drop, 0.59%", "loss was, 0.59%", "a loss from 0.59%")),
        *(
            (text, "rw")
            for text in ("a fall of profit 0.59%", "moved fell 0.59%", "0.59% annual fall", "0.59% down by far")
        ),
        *(
            (text, "wr")
            for text in ("0.59%*", "0.59%* in May", "0.59% - a rise", "0.59% |", "an 0.59%", "Value, 0.59%")
        ),
        *(
            (text, "wr")
            for text in ("The index (down in May) 0.59%", "profit to 0.59%", "grew to 0.59%", "fell from 0.59%")
        ),
        *((text, "wr") for text in ("rise in profit of 0.59%", "a rise of profit 0.59%", "changed profit of 0.59%")),
        *(
            (text, "wr")
            for text in ("0.59% in the index which fell", "0.59% to fall", "0.59% reached fall", "down at 0.59%")
        ),
        *((text, "wr") for text in ("loss to profit of 0.59%", "decline, profit 0.59%", "0.59% ? decline")),
        *((text, "uu") for text in ("zork, 0.59%", "zork (0.59%", "fell zork. 0.59%", "fell avg. value 0.59%")),
        *(
            (text, "uu")
            for text in ("fell sharply. 0.59%", "decline. it was 0.59%", "fell in Zorch. 0.59%", "下跌; 0.59%")
        ),
        *((text, "uu") for text in ("fall profit 0.59%", "swing in profit of 0.59%", "profit into profit of 0.59%")),
        *((text, "uu") for text in ("rise in the fall 0.59%", "0.59% ☂", "0.59% zork fell", "0.59% down up")),
        *((text, "uu") for text in ("profit despite falls 0.59%", "loss excluding gains 0.59%", "0.59% revised")),
        *((text, "uu") for text in ("fly 0.59%", "It fell in May (0.59%)")),
        *((text, "ww") for text in ("fell 5% (0.59%)", "0.59% and 12%")),
        *((text, "uu") for text in ("0.59% million", "snížily 0.59%", "ลด0.59%", "انخفض 0.59%", "गिरा 0.59%")),
        *(
            (text, "uu")
            for text in ("(2023)-0.59%", "(a)-0.59%", "Change- 0.59%", "GPT-0.59%", "指数 - 0.59%", "扭亏0.59%")
        ),
        *((text, "ww") for text in ("5-0.59%", "5%-0.59%", "CO2-0.59%")),
        *(
            (text, "rw")
            for text in ("ไทย-0.59%", "한국-0.59%", "は-0.59%", "Change:-0.59%", "fell- 0.59%", "fell - 0.59%")
        ),
        *(
            (text, "uu")
            for text in (
                "-0.59%上涨",
                "0.59%收窄",
            )
        ),
        *((text, "rw") for text in ("–0.59%", "—0.59%", "‒0.59%", "⁻0.59%", "&minus;0.59%", "▼0.59%", "− 0.59 %")),
        *((text, "rw") for text in ("0.59%-", "0.59-%", "( 0.59 )", "(0.59 %)", "(-0.59%)", "Final answer:-0.59%")),
        *((text, "rw") for text in ('{"change": "\\u22120.59%"}', "down 0.59% (59 bps)", "-0.59% (59 basis points)")),
        *(
            (text, "rw")
            for text in ("同比下滑0.59%", "0.59% lower", "plunged 0.59%", "fell sharply by 0.59%", "0.59%的跌幅")
        ),
        *((text, "rw") for text in ("The Fed cut the rate by 59 basis points", "a drop in the index of 0.59%")),
        *((text, "rw") for text in ("decline in profit was 0.59%", "negative growth of 0.59%", "growth of -0.59%")),
        *((text, "rw") for text in ("finished the day 0.59% in the red", "The decrease in the index was 0.59%")),
        *(
            (text, "rw")
            for text in ("(59) bps", "edged 0.59% lower", "fell 约0.59%", "百分之负零点五九", "fell to -0.59%")
        ),
        *((text, "wr") for text in ("+0.59%", "↑0.59%", "edged up 0.59%", "After a fall in May, it rose 0.59%")),
        *(
            (text, "wr")
            for text in ("decreased to 0.59%", "涨跌幅：0.59%", "growth was 0.59%", "涨幅为0.59%", "0.59% higher")
        ),
        *((text, "wr") for text in ("The revised GDP growth was 0.59%", "0.59% despite a decline in volumes")),
        *((text, "rw") for text in ("the decline fell 0.59%", "fell relative to last year by 0.59%")),
        *((text, "rw") for text in ("The decline relative to May was 0.59%", "fell by 59 basis points to a record")),
        *((text, "uu") for text in ("the fall rose by 0.59%", "a loss Mzd. of 0.59%")),
        *(
            (text, "uu")
            for text in ("- 0.59%", "– 0.59%", "Change – 0.59%", "▲0.59%", "△ 0.59%", "--0.59%", "-(0.59)%")
        ),
        *(
            (text, "uu")
            for text in ("flurbed 0.59%", "GDP flurbed sharply by 0.59%", "changed by 0.59%", "rose -0.59%")
        ),
        *(
            (text, "uu")
            for text in ("fell zork 0.59%", "0.59% zork decline", "指数暴走0.59%", "fiel um 0,59 %", "moved 0.59%")
        ),
        *(
            (text, "rw")
            for text in ("declined by approx. 0.59%", "fell ca. 0.59%", "minus approx. 0.59%", "fell in Dec. 0.59%")
        ),
        *((text, "rw") for text in ("It fell, i.e. 0.59%", "0.59% In The Red", "0.59% lower from May to June")),
        *((text, "rw") for text in ("(5.9) × 10^-1", "0.59% stock market decline")),
        *((text, "wr") for text in ("It rose approx. 0.59%", "approx. 0.59%", "+ 0.59%", '"0.59%" in May', "0.59%) m")),
        *(
            (text, "wr")
            for text in ("It fell; it was 0.59%", "It fell in May! Then 0.59%", "dropped, but gained 0.59%")
        ),
        *((text, "wr") for text in ("dropped although it gained 0.59%", "The zorked value was 0.59%")),
        *((text, "wr") for text in ("0.59% as the index fell", "increased profit 0.59%", "revised growth in 0.59%")),
        *((text, "wr") for text in ("0.59%, a rise", "0.59% increase (in the index)", "0.59% into the black")),
        *(
            (text, "rw")
            for text in ("亏损率为0.59%", "the 指数 fell 0.59%", "净流出0.59%", "0.59% 的年度跌幅", "0.59%(下跌)")
        ),
        *(
            (text, "wr")
            for text in ("指数上涨至0.59%", "下跌至0.59%", "下跌，随后上涨0.59%", "净流入0.59%", "0.59%左右")
        ),
        *(
            (text, "wr")
            for text in ("0.59%，同比下跌", "0.59%的涨幅", "0.59%同比增长", "上涨了大约0.59%", "指数为0.59%")
        ),
        *(
            (text, "uu")
            for text in ("同比变动0.59%", "跌幅收窄0.59%", "先涨后跌0.59%", "指数fell 0.59%", "下跌zork0.59%")
        ),
        *((text, "uu") for text in ("0.59%的变动", "0.59%奇怪", "上涨-0.59%", "上涨亏损0.59%", "亏损增加0.59%")),
        *((text, "wu") for text in ("0.59% down from 0.7%", "0.59%, down from 0.7%", "0.59% down from 7%")),
        *((text, "wu") for text in ("0.59%, a decline from 0.7%",)),
        *(
            (text, "uu")
            for text in ("fell... 0.59%", "Decline\n\n0.59%", "fell → 0.59%", "[fell] 0.59%", "(negative) 0.59%")
        ),
        *((text, "uu") for text in ("negative; 0.59%", "0.59%, negative", "0.59% - negative", "0.59%; a decline")),
        *((text, "uu") for text in ("The index fell.\n0.59%", "It fell last year. **0.59%**")),
        *((text, "wr") for text in ("The index rose.\n0.59%", "It fell at first. In the end it rose 0.59%")),
        *((text, "uu") for text in ("0.59% | decline", "0.59%\ndecline", "0.59% [down]", "0.59%，下跌")),
        *((text, "uu") for text in ("0.59%, a decline", "0.59%, which is a sharp drop on the year before")),
        *((text, "uu") for text in ("changed in value 0.59%", "Mzd. 0.59%", "-0.59% higher", "0.59% zork increase")),
        *(
            (text, "uu")
            for text in ("a growth of 0.59% to the downside", "0.59% × 3", "0.59%) million", "a gain revised 0.59%")
        ),
        *(
            (text, "uu")
            for text in ("was off 0.59%", "The reduced figure was 0.59%", "fell +0.59%", "0.59% -", "by 0.59%")
        ),
        *(
            (text, "uu")
            for text in (
                "fell, in May, 0.59%",
                "fell, after May, $0.59%",
                "It fell. In May, 0.59%",
                "klesly 0.59%",
                "0.59% klesly",
                "The fallen index was 0.59%",
                "The lower bound was 0.59%",
            )
        ),
        *(
            (text, "wr")
            for text in (
                "It rose, in May, 0.59%",
                "It fell in April, and in May it was 0.59%",
                "a considerably 0.59%",
            )
        ),
    ],
)
def test_which_sign_an_answer_says(answer: str, fell_rose: str) -> None:
    assert outcomes(answer, FELL, ROSE) == fell_rose


@pytest.mark.parametrize(
    ("answer", "loss_profit"),
    [
        *((text, "rw") for text in ("( 3.4 )", "($3.4 million)", "$(3.4) million", "3.4-", "Net loss: $3.4 million")),
        *(
            (text, "rw")
            for text in ("a deficit of $3.4 million", "净亏损为340万美元", "亏损340万美元", "순손실 340만 달러")
        ),
        *((text, "rw") for text in ("Net loss, $3.4 million", "| Net loss | 3.4 million |", "3.4 million in losses")),
        *((text, "rw") for text in ("Net loss attributable to shareholders for the year was $3.4 million",)),
        *(
            (text, "rw")
            for text in ("swung to a loss of 3.4 million", "Net income was (3.4) million", "Net loss - 3.4 million")
        ),
        *(
            (text, "wr")
            for text in ("Net income (loss) was 3.4 million", "net profit of $3.4 million", "a surplus of 3.4 million")
        ),
        *((text, "wr") for text in ("The loss-making firm reported net income of $3.4 million", "3.4 million profit")),
        *(
            (text, "rw")
            for text in ("净亏损达到340万美元", "净盈利-340万美元", "净盈利为-340万美元", "340万美元的亏损")
        ),
        *(
            (text, "uu")
            for text in ("亏损减少340万美元", "-340万美元盈利", "亏损扩大至340万美元", "亏损由盈利转为340万美元")
        ),
        *((text, "wr") for text in ("3.4 million down 12%", "3.4 million, down 12%")),
        ("3.4 million down by $5", "wu"),
        *((text, "rw") for text in ("Net loss approx. $3.4 million", "3.4 million (loss)")),
        *((text, "wr") for text in ("higher profits of $3.4 million", "3.4 million, a decline of 12%")),
        *((text, "uu") for text in ("Lower profits of $3.4 million", "net income ($3.4)", "3.4 million, a loss")),
        *((text, "uu") for text in ("Net income (3.4)", "revenue 70; net income (3.4)")),
        *((text, "wr") for text in ("Net income was 3.4 million (3,400,000)",)),
        *((text, "uu") for text in ("reduced its loss by 3.4 million", "narrowed its loss to 3.4 million")),
        *(
            (text, "uu")
            for text in ("Profit before losses was 3.4 million", "- 3.4 million", "net loss fell by 3.4 million")
        ),
        ("3.4 mio. Losses were lower", "uu"),
        ("3.4 mio. loss", "rw"),
        ("$(3.4 million)", "rw"),
        ("The result was $(3.4 million) in May", "rw"),
    ],
)
def test_losses_and_profits(answer: str, loss_profit: str) -> None:
    assert outcomes(answer, LOSS, PROFIT) == loss_profit


@pytest.mark.parametrize(
    ("answer", "million_billion"),
    [
        *((text, "wr") for text in ("62.57 Mrd. USD", "62,57 Milliarden US-Dollar", "62.57B$", "62.57 bil USD")),
        *(
            (text, "wr")
            for text in ("62.57 (billion)", "62.57, in billions", "62.57 USD Mrd", "\\boxed{62.57} billion")
        ),
        *((text, "wr") for text in ("62.57 thousand million", "$bn 62.57", "Revenue (USD bn): 62.57", "625.7億ドル")),
        *((text, "rw") for text in ("62.57 Mio", "62,57 Mio. $", "62.57M$", "$m 62.57", "62.57 млн долларов")),
        *(
            (text, "rw")
            for text in ("Revenue (USD m): 62.57", "6257만 달러", "6.257 crore USD", "62.57 million U.S. dollars")
        ),
        *(
            (text, "rw")
            for text in ("62.57 million [1]", "62.57 million USD (audited)", "62.57 million USD based on filings")
        ),
        *(
            (text, "ww")
            for text in ("62.57 crores", "62.57조원", "62.57 억", "62.57 lakhs", "62.57K$", "€m 62.57", "62.57 zł")
        ),
        *(
            (text, "ww")
            for text in ("62.57₿", "PLN62.57 million", "in euros: 62.57 million", "Rs 62.57 crore", "6 dozen")
        ),
        *(
            (text, "uu")
            for text in ("62.57 zork", "62.57 mil", "62.57 tr", "62.57zork", "62.57 million zork", "62.57 ¤")
        ),
        *(
            (text, "uu")
            for text in ("XYZ 62.57 million", "$ zork 62.57 million", "in zorks: 62.57", "62.57²", "62.57×3")
        ),
        *(
            (text, "uu")
            for text in ("62.57.1", "62.57 units", "62.57 months", "62.57^2", "zork62.57", "62.57 zork million")
        ),
        *((text, "wr") for text in ("in millions of USD: 62.57 billion", "US$62.57 billion in total")),
        *((text, "rw") for text in ("GDP 62.57 million", "Revenue in France: 62.57 million", "62.57*10**(6) USD")),
        *((text, "rr") for text in ("EPS 62.57", "Revenue in France: 62.57", "in sales: 62.57")),
        *((text, "rw") for text in ("IBM $62.57 million", "$ approx. 62.57 million", "in millions: 62.57")),
        *((text, "rw") for text in ("Revenue (USD): 62.57 million", "in total: 62.57 million", "$62.57 Mio.USD")),
        *((text, "rr") for text in ("YTD 62.57", "EPS: 62.57")),
        *((text, "rw") for text in ("Revenue fell 3% to $62.57 million",)),
        *((text, "rw") for text in ("Between May and June 62.57 million", "62.57 million and 5%")),
        *((text, "ww") for text in ("between 3 and 62.57 million", "62.57 million or so", "62.57+ million")),
        *((text, "ww") for text in ("in USD: €62.57 million", "in millions of USD: €62.57", "in percent: 62.57")),
        *(
            (text, "ww")
            for text in ("Revenue (EUR): 62.57", "€: 62.57", "EUR: 62.57 million", "in millions of CHF: 62.57")
        ),
        *((text, "uu") for text in ("in zorks: 62.57 million", "QXZ 62.57")),
        *((text, "ww") for text in ("руб 62.57 million", "62.57 million EUR USD")),
        *((text, "uu") for text in ("in shares: 62.57", "$ руб 62.57 million", "in millions of zorks: 62.57")),
        *((text, "ww") for text in ("62.57 million ±5%", "62.57 ± 5%")),
        *((text, "uw") for text in ("Revenue rose from 57.12 to 62.57 million",)),
        *((text, "uu") for text in ("62.57**2", "62.57 ** 2", "62.57**(-2)", "**62.57**2")),
        *(
            (text, "rw")
            for text in ("**62.57** million", "In FY2023 **62.57** million", "**Revenue 2023** 62.57 million")
        ),
        *((text, "uu") for text in ("All figures are in billions of dollars. Revenue: 62.57",)),
    ],
)
def test_which_scale_and_unit_an_answer_says(answer: str, million_billion: str) -> None:
    assert outcomes(answer, MILLIONS, BILLIONS) == million_billion


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "- 62.57 million USD",
            "* 62.57 million USD",
            "+ 62.57 million",
            "– 62.57 million USD",
            "• 62.57 million USD",
        ),
        *("Final answer:\n- 62.57 million USD", "Revenue – 62.57 million USD", "$62.57$ million", "62.570.000 USD"),
        *("\\boxed{62{,}570{,}000}", "6.257 \\times 10^{7}", "6.257 × 10⁷", "6.257*10**7", "6.257 x 10<sup>7</sup>"),
        *("\\(62.57\\) million", "$$62.57 \\text{ million USD}$$", "$\\boxed{\\text{62.57 million}}$", "62.57~million"),
        *(
            "62\u2009570\u2009000",
            "62\\,570\\,000",
            "62,57 million USD",
            "62.57&nbsp;million",
            "६२.५७ million",
            "USD62.57m",
        ),
        *("<b>62.57</b> million", "*62.57 million USD*", "62.57 million of revenue", "US$ 62.57 million per year"),
        *(
            "Revenue fell to $62.57 million",
            "$62.57 million, excluding one-time items",
            "It was 62.57 million – a record",
            "62.57 last year",
            "62.57 million, a decline on the year before",
            "Decline\n\n62.57 million",
            "Revenue fell last year.\n\n62.57 million",
            "62.57 million; the margin of error is ±5%",
        ),
    ],
)
def test_usual_forms_of_a_right_amount(answer: str) -> None:
    assert outcomes(answer, MILLIONS) == "r"


@pytest.mark.parametrize(
    ("truth", "right", "wrong"),
    [
        (one(0.4, decimals=None), ("\\frac{2}{5}", "$\\dfrac25$", "2/5"), ("-\\frac{2}{5}", "\\frac{2}{0}", "5/2")),
        (one(3.5, decimals=None), ("3 1/2", "3\\frac{1}{2}"), ("3 3/2", "1/2")),
        (one(0.00059, decimals=None), ("5.9 x 10^-4", "5.9 \\times 10^{-4}", "5.9 × 10⁻⁴", "5.9e-4"), ("5.9 x 10^4",)),
        (one(1e7, decimals=None), ("10^7", "10⁷", "10**7"), ("10^6", "107", "5^7")),
        (one(1234567, "EUR", decimals=None), ("1.234.567 EUR", "1 234 567 EUR"), ("1.234 EUR", "1.234.568 EUR")),
        (one(1.234, "EUR", decimals=None), ("1.234 EUR",), ("1.234.567 EUR",)),
        (
            one(0, "basis points", "change", 0),
            ("no change", "unchanged", "The rate was unchanged.", "没有变化"),
            ("changed",),
        ),
        (one(25, "basis points", "change", 0), ("25 bp",), ("no change", "flat", "-25")),
        (one(0, "million USD", "revenue", 0), ("0",), ("no change", "0 zork")),
        (one(3, None, "months", 0), ("3 months", "3", "3个月"), ("4 months",)),
        (
            one(12, None, "count", 0),
            (
                "12",
                "12 restaurants",
                "12 companies",
                "12 cuts",
                "12个",
                "12家公司",
                "Amounts are in millions of dollars. 12 restaurants",
            ),
            ("-12", "13 banks", "12 × 3x", "12奇"),
        ),
        (one(-12, None, "change", 0), ("12 vehicle decline", "-12"), ("12 vehicle increase", "12")),
        (one(-12, None, "Change", 0), ("12 fewer", "-12"), ("12", "a gain of 12")),
        (one(81, "USD", "Daily Drop", 0), ("-81", "81", "fell by 81"), ("rose by 81",)),
        (one(12, None, "hikes in the year", 0), ("12 increases", "12 hikes"), ("12 months", "12 zorks")),
        (one(-12, "USD", "change", 0), ("$12 cuts", "12 USD cuts", "12 USD cut"), ("12 cuts", "12 USD")),
        (one(12, None, "duration", 0), ("12 months", "12 of Tesla's months"), ("13 months", "12 zorks")),
        (one(3, "months", "length", 0), ("in months: 3", "3个月"), ("in years: 3", "3 years", "3个季度")),
        (one(3, "days", "length", 0), ("3个交易日", "3交易日", "3天"), ("3个", "3小时")),
        (one(3, "quarters", "length", 0), ("3个季度",), ("3个", "3个月")),
        (one(3, "hours", "length", 0), ("3小时",), ("3天",)),
        (
            one(62.57, "million EUR", "revenue"),
            ("€m 62.57", "EUR m 62.57", "in millions of EUR: 62.57", "62.57 million of euros", "62.57 Mio.EUR"),
            (
                "$m 62.57",
                "USD m 62.57",
                "in millions of USD: 62.57",
                "62.57 million of US dollars",
                "62.57 million US $",
            ),
        ),
        (
            one(62.57, "million CAD", "revenue"),
            ("62.57 million dollars", "62.57 million CAD"),
            ("62.57 million US dollars", "62.57 million US-dollars", "62.57 million u.s. dollars"),
        ),
        (one(7.1905, None, "rate", 4), ("1 USD = 7.1905 CNY", "7.1905"), ("1 USD = 7.1906 CNY", "1")),
        (one(593.4, "basis points", decimals=None), ("5.93%", "593 bps"), ("5.92%", "5.94%", "594")),
    ],
)
def test_other_forms(truth: Reference, right: tuple[str, ...], wrong: tuple[str, ...]) -> None:
    assert {answer: outcomes(answer, truth) for answer in right} == dict.fromkeys(right, "r")
    assert "r" not in {outcomes(answer, truth) for answer in wrong}


@pytest.mark.parametrize(
    ("answer", "counted_fell"),
    [
        *((text, "rw") for text in ("12 cuts", "12 vehicles", "12 falls")),
        *(
            (text, "uu")
            for text in ("12 rate cuts", "12 job cuts", "12 job losses", "12 losses", "12 vehicle zork fall")
        ),
        *((text, "wr") for text in ("12 vehicle decline", "12 loss", "12 fall", "12 shares fewer")),
    ],
)
def test_what_is_counted_may_be_cuts(answer: str, counted_fell: str) -> None:
    assert outcomes(answer, one(12, None, "count", 0), one(-12, None, "change", 0)) == counted_fell


def test_ranges_and_shares_of_a_right_number() -> None:
    between = Reference((Part("rate", "number", 62.5, rule="between", low=62.0, high=63.0),))
    relative = Reference((Part("rate", "number", 100.0, rule="relative", tolerance=0.01),))
    zero = Reference((Part("rate", "number", 0.0, rule="relative", tolerance=0.01, accept=(5.0,)),))
    for truth, right, wrong in (
        (
            between,
            ("62", "63", "62.5"),
            ("between 62.2 and 62.8", "62.2-62.8", "62.2 to 62.8", "62.2~62.8", "61.9", "63.1"),
        ),
        (relative, ("100.9", "99.1", "100"), ("101", "99", "102")),
        (zero, ("0", "5"), ("0.001", "4", "0.01")),
    ):
        assert {answer: outcomes(answer, truth) for answer in right} == dict.fromkeys(right, "r")
        assert {answer: outcomes(answer, truth) for answer in wrong} == dict.fromkeys(wrong, "w")
    assert [outcomes(answer, zero) for answer in ("0 zork", "5 zork", "7 zork")] == ["u", "u", "w"]


def test_the_name_of_a_change_may_begin_with_a_capital() -> None:
    assert [outcomes("They flurb 12", one(12, None, name, 0)) for name in ("Net Income", "change", "Count")] == [*"uur"]


@pytest.mark.parametrize(
    ("answers", "direction", "doubt"),
    [
        (
            ("fell 0.59%", "loss of 0.59%", "下跌0.59%", "亏损0.59%", "0.59%的跌幅", "0.59%的亏损", "fell - 0.59%"),
            -1,
            "",
        ),
        (("0.59% in the red", "0.59% lower", "0.59% loss", "a decline in profit of 0.59%", "▼0.59%"), -1, ""),
        (("rose 0.59%", "gain of 0.59%", "上涨0.59%", "净盈利0.59%", "0.59%的涨幅", "0.59%盈利", "+0.59%"), 1, ""),
        (
            (
                "0.59% in the black",
                "0.59% higher",
                "0.59% gain",
                "revised growth of 0.59%",
                "$+0.59",
                "fell to a gain of 5",
            ),
            1,
            "",
        ),
        (("0.59%", "-0.59%", "(0.59%)", "the value was 0.59%", "指数为0.59%"), 0, ""),
        (
            ("moved 0.59%", "+-0.59%", "fell +0.59%", "rose -0.59%", "zorked 0.59%", "先涨后跌0.59%", "by 0.59%"),
            0,
            "sign",
        ),
        (("- 0.59%", "Change - 0.59%"), 0, "bullet"),
        (("zork 0.59%", "指数暴走0.59%", "It fell. 0.59%"), 0, "verb"),
    ],
)
def test_which_direction_a_number_has(answers: tuple[str, ...], direction: int, doubt: str) -> None:
    said = {answer: [(one.direction, one.doubt) for one in numbers_of(cleaned(answer))] for answer in answers}
    assert said == {answer: [(direction, doubt)] for answer in answers}


def test_what_is_not_understood_beside_a_number_is_named() -> None:
    for answer, beside in (
        ("$ zork 62.57 million", "zork"),
        ("62.57 zorks", "zork"),
        ("XYZ 62.57", "xyz"),
        ("5奇怪", "奇"),
        ("62", ""),
    ):
        assert [mention.beside for mention in numbers_of(answer)] == [beside]
    assert understood("", frozenset(), plain=False)


def test_a_short_answer_is_read_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "_mentions", None)
    for answer in ("62.57", "-0.59%", "62.57 million USD", "$5 billion", "5 percent decline", "€5 or more", "5亿美元"):
        assert len(numbers_of(answer)) == 1


def test_digits_and_signs_of_other_scripts_are_those_of_ascii() -> None:
    for zero in "٠۰߀०০੦૦୦௦౦೦൦๐໐༠၀០᠐𝟎𝟘𝟢𝟬𝟶０":
        assert cleaned("".join(chr(ord(zero) + digit) for digit in range(10))) == "0123456789", zero
    for code in range(0x21, 0x7F):
        assert cleaned(f"a{chr(code + 0xFEE0)}b") == cleaned(f"a{chr(code)}b")


def test_small_numbers_in_words_are_those_up_to_ten() -> None:
    for answer, value, outcome in (
        ("ten of them: 62", 10, "w"),
        ("ten of them: 62", 62, "r"),
        ("eleven of them: 62", 11, "u"),
        ("eleven of them: 62", 62, "u"),
    ):
        assert outcomes(answer, one(value, decimals=0)) == outcome


def test_a_power_of_ten_is_exact() -> None:
    assert [(mention.value, mention.place) for mention in numbers_of("10^7")] == [(10**7, 0)]


def test_other_units_of_time_are_not_right() -> None:
    assert outcomes("3 years", one(3, None, "months", 0)) == "u"
    assert outcomes("3 weeks", one(3, "days", "length", 0)) == "u"


POOL = [
    (problem.reference, problem.reference.parts[0])
    for problem in stored_pool().problems
    if len(problem.reference.parts) == 1
    and problem.reference.parts[0].type == "number"
    and problem.reference.parts[0].value
]
"""The questions of FinSearchComp's own pool that ask for one number other than 0."""
SENTENCES = (
    *("{}", "**{}**", "{name}: {}", "The {name} was {} in 2023.", "{} for the quarter ended 31 March 2023"),
    *("According to the 10-K (page 45), the {name} of 2022 was {}, as reported by the company.", "- {name}: {}"),
    *("Apple's {name} came in at {} compared with the year before", "{name}为{}。", "The answer is {} (rounded)."),
)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_sentences_that_say_the_truth_of_the_pool_are_right(sentence: str) -> None:
    for reference, part in POOL[::7]:
        answer = sentence.format(f"{part.written():f}".rstrip("0").rstrip(".") + f" {part.unit or ''}", name=part.name)
        assert outcomes(answer, reference) == "r", answer


@pytest.mark.parametrize("dash", ["-", "\u2212", "\u2012", "\u2013", "\u2014", "\u207b", "\ufe63", "\uff0d"])
def test_every_dash_before_a_number_of_the_pool_is_a_minus(dash: str) -> None:
    for reference, part in POOL[::5]:
        negative = float(part.written()) < 0
        written = f"{abs(part.written()):f}"
        assert outcomes(dash + written, reference) == ("r" if negative else "w"), (dash, part)
        assert outcomes(written, reference) == ("w" if negative else "r"), (written, part)


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "62.57 million USD",
            "$62,570,000",
            "-5 cuts",
            "$5 cuts",
            "€5 or more",
            "10 zork",
            "2019 companies",
            "5个月",
            "5亿美元",
            "5 March",
        ),
        *("5 of 7", "12 in billions", "5 percent decline", "5 Mrd", "5万", "7 million three", "113"),
    ],
)
def test_a_short_answer_is_read_as_a_long_one_is(answer: str) -> None:
    # The blank line makes the text one that is not short; places are those of the text all the same.
    short, careful = numbers_of(cleaned(answer)), numbers_of(f"{cleaned(answer)}\n ")
    assert short == careful


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("(3.4) million USD", "r"),
        ("$ (3.4) million", "r"),
        ("(3.4) million EUR", "w"),  # the currency behind the bracket is the number's
        ("€(3.4) million", "w"),
        ("the income ($3.4 million)", "u"),  # a remark or a loss
        ("net income was USD -3.4 million", "r"),
        ("net income was -USD 3.4 million", "r"),
        *(
            (f"{sign}3.4{more}", "r")
            for sign, more in (("$-", " million"), ("-$", " million"), ("", " million-"), ("(", "-)"))
        ),
        *(
            (answer, "r")
            for answer in ("3.4-.", "3.4-, in May", "3.4-$", "= (3.4) million", "(3.4 )", "net income: (3.4)")
        ),
        *((answer, "r") for answer in ("Net income ($3.4) million", "Net income $(3.4)", "(-3.4) million")),
        *((answer, "u") for answer in ("- (3.4) million", "-(3.4) million", "-$-3.4 million", "Net income -$(3.4)")),
        *((answer, "u") for answer in ("-3.4-", "3.4- million", "3.4 million- a record", "3.4 million - ")),
        *((answer, "w") for answer in ("(+3.4) million", "(3.4 million", "( 3.4 million", "revenue 70 (3.4)", "3.4-%")),
        *((answer, "w") for answer in ("3.4 million - a record",)),
        ("AUSD 3.4 million", "u"),  # of a word that ends as a currency does nothing is known
    ],
)
def test_what_stands_around_brackets(answer: str, outcome: str) -> None:
    assert outcomes(answer, LOSS) == outcome


def test_a_number_is_said_again_or_made_of_two_only_in_forms_that_are_known() -> None:
    assert outcomes("0.59% (59 bps)", FELL, ROSE) == "wr"
    for answer, said in (("3亿5000万美元", 350.0), ("3亿5亿美元", None), ("5000万3亿美元", None)):
        for value in (300.0, 350.0, 500.0, 800.0):
            assert (outcomes(answer, one(value, "million USD", "revenue")) == "r") == (value == said)
    assert outcomes("12亿3400万元", one(1234.004, "million CNY", decimals=None)) == "r"
    balance = one(-62.57, "USD", "balance")
    for answer, outcome in (("62.57-$", "r"), ("62.57-", "r"), ("62.57-€", "w"), ("62.57-%", "w")):
        assert outcomes(answer, balance) == outcome, answer

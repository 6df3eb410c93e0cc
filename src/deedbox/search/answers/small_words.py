"""The small words that decide what a sentence says, for each language whose answers are checked.

Each line names a relation and the words that express it. Words of the same relation may replace each other."""

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from typing import NamedTuple

SCALED_DIGITS = 30
WEAK = frozenset({"of", "in", "on", "at", "with", "as"})
"""Relations that a true sentence may leave out: "the deposit of May", "the May deposit"."""

_RELATIONS = {
    "en": """
        up-to: up to, at most, no more than, not more than, not exceeding, maximum of, maximum
        at-least: at least, no less than, not less than, no fewer than, minimum of, minimum
        more-than: more than, over, above, in excess of, exceeding, exceeds
        less-than: less than, fewer than, under, below
        about: about, around, approximately, roughly, nearly, almost, circa
        before: before, prior to
        after: after
        until: until, till
        since: since
        within: within
        during: during
        from: from
        to: to
        by: by
        of: of
        in: in, into
        on: on, upon
        at: at
        with: with
        as: as
        for: for, on behalf of
        against: against
        between: between
        per: per, /
        or: or
        some: some, several, part of
        most: most of, most
        few: few
        half: half of, half
        twice: twice, double
        third: one third of, a third of
        quarter: one quarter of, a quarter of
        may: may, can, might, could, is allowed, are allowed, is permitted, are permitted, is entitled, are entitled
        not: not, no, never, none, neither, nor, nobody, nothing, cannot
        without: without
        if: if, provided that, provided, in case
        unless: unless
        except: except, excepting, other than
        only: only, solely
        subject-to: subject to, conditional on, conditional upon, conditioned on, contingent on, contingent upon
        depending: depending on, dependent on, dependent upon, pending
        as-long-as: as long as, so long as
        """,
    "de": """
        up-to: bis zu, höchstens, maximal, nicht mehr als
        at-least: mindestens, wenigstens, nicht weniger als
        more-than: mehr als, über
        less-than: weniger als, unter
        about: etwa, ungefähr, rund, circa, ca, fast, knapp
        before: vor
        after: nach
        until: bis
        since: seit
        within: innerhalb von, innerhalb, binnen
        during: während
        from: ab
        to: zu, zum, zur, an, am
        by: von, vom, durch
        in: in, im
        on: auf
        at: bei, beim
        with: mit
        as: als
        for: für
        against: gegen
        between: zwischen
        per: pro, je, /
        or: oder
        some: einige, mehrere, manche
        most: die meisten, meisten
        few: wenige
        half: die hälfte, hälfte, halbe, halben
        may: darf, dürfen, kann, können, könnte, könnten
        not: nicht, kein, keine, keinen, keiner, keinem, keines, nie, niemals, nichts, niemand
        without: ohne
        if: wenn, falls, sofern, soweit
        unless: es sei denn
        except: ausser, außer
        only: nur
        subject-to: vorbehaltlich, unter dem vorbehalt, unter vorbehalt, abhängig von
        provided: unter der bedingung, unter der voraussetzung, vorausgesetzt
        """,
    "fr": """
        up-to: jusqu'à, au plus, au maximum, maximum, pas plus de
        at-least: au moins, au minimum, minimum, pas moins de
        more-than: plus de, plus que
        less-than: moins de, moins que
        about: environ, près de, presque
        before: avant
        after: après
        until: jusqu'en, jusqu'au
        since: depuis
        within: dans un délai de, sous
        during: pendant, durant
        from: à partir de, à compter de, dès
        to: à, au, aux
        by: par
        of: de, du, des
        in: dans, en
        on: sur
        at: chez
        with: avec
        as: comme
        for: pour
        against: contre
        between: entre
        or: ou
        some: certains, certaines, plusieurs, quelques
        most: la plupart
        half: la moitié, moitié
        may: peut, peuvent, pourrait, pourraient
        not: ne, non, jamais, aucun, aucune, rien
        without: sans
        if: si
        unless: à moins que
        except: sauf
        only: seulement, uniquement
        subject-to: sous réserve, subordonné à, subordonnée à, soumis à, soumise à, conditionné à, conditionnée à
        provided: à condition, à la condition, pourvu que
        """,
    "es": """
        up-to: hasta, como máximo, a lo sumo, máximo, no más de
        at-least: al menos, por lo menos, como mínimo, mínimo, no menos de
        more-than: más de, más que
        less-than: menos de, menos que
        about: aproximadamente, alrededor de, casi, unos, unas
        before: antes de, antes del
        after: después de, después del, tras
        since: desde
        within: dentro de, en un plazo de, en el plazo de
        during: durante
        from: a partir de, a partir del
        to: a, al
        by: por
        of: de, del
        in: en
        on: sobre
        with: con
        as: como
        for: para
        against: contra
        between: entre
        or: o, u
        some: algunos, algunas, varios, varias
        most: la mayoría de
        half: la mitad de, mitad
        may: puede, pueden, podrá, podrán, podría
        not: no, nunca, jamás, ningún, ninguno, ninguna, nada, nadie
        without: sin
        if: si
        unless: a menos que
        except: salvo, excepto
        only: sólo, solo, solamente, únicamente
        subject-to: sujeto a, sujeta a, sujetos a, sujetas a, supeditado a, supeditada a, condicionado a, condicionada a
        provided: a condición, con la condición, siempre que
        """,
    "it": """
        up-to: fino a, al massimo, massimo, non più di
        at-least: almeno, minimo, non meno di
        more-than: più di, oltre
        less-than: meno di
        about: circa, quasi
        before: prima di, prima del, prima della
        after: dopo
        until: fino al, fino alla
        within: entro
        during: durante
        from: a partire da, a decorrere da
        to: a, al, allo, alla, ai, agli, alle
        by: da, dal, dallo, dalla, dai, dagli, dalle
        of: di, del, dello, della, dei, degli, delle
        in: in, nel, nello, nella, nei, negli, nelle
        on: su, sul, sullo, sulla
        with: con
        as: come
        for: per
        against: contro
        between: tra, fra
        or: o, oppure
        some: alcuni, alcune, diversi, diverse
        most: la maggior parte dei, la maggior parte delle
        half: metà
        may: può, possono, potrebbe, potrà, potranno
        not: non, mai, nessun, nessuno, nessuna, nulla, niente
        without: senza
        if: se
        unless: a meno che
        except: tranne, salvo, eccetto
        only: solo, soltanto, solamente
        subject-to: subordinato, subordinata, soggetto, soggetta, condizionato, condizionata
        provided: a condizione, purché
        """,
    "nl": """
        up-to: tot en met, hoogstens, maximaal, ten hoogste, niet meer dan
        at-least: minstens, ten minste, tenminste, minimaal, niet minder dan
        more-than: meer dan, boven
        less-than: minder dan, onder
        about: ongeveer, circa, bijna
        before: voor, vóór
        after: na
        until: tot
        since: sinds
        within: binnen
        during: tijdens, gedurende
        from: vanaf
        to: aan, naar
        by: door
        of: van
        in: in
        on: op
        at: bij, te
        with: met
        as: als
        against: tegen
        between: tussen
        per: per, /
        or: of
        some: sommige, enkele
        most: de meeste, meeste
        half: de helft, helft
        may: mag, mogen, kan, kunnen
        not: niet, geen, nooit, niets, niemand
        without: zonder
        if: indien, wanneer
        unless: tenzij
        except: behalve
        only: alleen, slechts, enkel
        subject-to: onder voorbehoud, afhankelijk van, behoudens
        provided: op voorwaarde, onder de voorwaarde, mits
        """,
}
_ARTICLES = {
    "en": "a an the this that these those its his her their our your my each every any all",
    "de": "der die das den dem des ein eine einen einem einer eines sein ihr unser jeder jede jedes jeden",
    "fr": "le la les un une ce cette ces son sa ses leur chaque",
    "es": "el la los las un una unos unas su sus este esta cada",
    "it": "il lo la i gli le un uno una suo sua questo questa ogni",
    "nl": "de het een deze dit zijn haar hun elke",
}
_INFINITIVES = {"en": "to", "de": "zu", "fr": "à", "es": "a", "it": "a", "nl": "te aan"}
_RATES = {"en": "per / each every", "de": "pro je /", "fr": "par /", "es": "por /", "it": "per al /", "nl": "per /"}
_SCALES = {
    "en": "3 thousand k|6 million millions mn mio|9 billion billions bn|12 trillion trillions tn",
    "de": "3 tausend tsd|6 million millionen mio|9 milliarde milliarden mrd|12 billion billionen bio",
    "fr": "3 mille|6 million millions mio|9 milliard milliards mrd|12 billion billions",
    "es": "3 mil|6 millón millones|12 billón billones",
    "it": "3 mila mille|6 milione milioni mln|9 miliardo miliardi mld|12 bilione bilioni",
    "nl": "3 duizend|6 miljoen mln|9 miljard mrd mld|12 biljoen",
}
_NUMBERS = {
    "en": "a an one two three four five six seven eight nine ten",
    "de": "eine einer eine zwei drei vier fünf sechs sieben acht neun zehn",
    "fr": "un une un deux trois quatre cinq six sept huit neuf dix",
    "es": "un una un dos tres cuatro cinco seis siete ocho nueve diez",
    "it": "un uno un due tre quattro cinque sei sette otto nove dieci",
    "nl": "een één een twee drie vier vijf zes zeven acht negen tien",
}
"""The first three are one."""
_UNITS = (
    "second seconds minute minutes hour hours day days week weeks month months quarter quarters year years"
    " sekunde sekunden minuten stunde stunden tag tage tagen woche wochen monat monate monaten jahr jahre jahren"
    " seconde secondes heure heures jour jours semaine semaines mois an ans année années"
    " segundo segundos minuto minutos hora horas día días semana semanas mes meses año años"
    " secondo secondi minuti ora ore giorno giorni settimana settimane mese mesi anno anni"
    " uur uren dag dagen weken maand maanden jaar jaren"
    " km m cm mm m² km² ha kg g mg t l ml kw kwh mw mwh gw gb mb tb points shares"
    " chf sek nok dkk pln czk jpy cny francs yen"
)
_TIMES = frozenset(_UNITS[: _UNITS.index(" km ")].split())
_MONEY_SCALES = {
    letters: 10 ** int(power)
    for power, *group in (
        line.split() for line in ("3 k", "6 m mm mn mio mln", "9 b bn bln md mds mrd mld", "12 t tn trn bio")
    )
    for letters in group
}
"""Letters that are a scale where a currency stands beside them: €14.2m."""
_CURRENCY = (
    r"[€$£¥]|(?:eur|euros?|usd|dollars?|gbp|pounds?|chf|jpy|cny|sek|nok|dkk|pln|czk|francs?|franken|yen|pfund|livres?"
    r"|dólares|libras|sterline|dollari|dollars)(?![^\W_])"
)
_MONEY = re.compile(
    rf"(?<![\w.,])(?<!\d\s)(?:(?P<before>{_CURRENCY})\s?(?P<number>\d+(?:[.,]\d+)*)\s?(?P<scale>{{0}})(?![^\W_])"
    rf"|(?P<amount>\d+(?:[.,]\d+)*)\s?(?P<letters>{{0}})\s?(?={_CURRENCY}))".replace(
        "{0}", "|".join(sorted(_MONEY_SCALES, key=len, reverse=True))
    ),
    re.IGNORECASE,
)
_LIMITS_AFTER = {
    "en": (
        "or more|or over|or above|or greater|or higher|or longer|or upwards?|and above|and over|and more"
        "|and up|and upwards?|upwards|or later|or older|at least|at a minimum|minimum",
        "or less|or fewer|or below|or under|or lower|or shorter|or earlier|or younger|and below|and under"
        "|and less|and fewer|at most|at the most|at a maximum|maximum|tops",
    ),
    "de": (
        "oder mehr|und mehr|oder darüber|und darüber|oder höher|und höher|oder länger|oder später|oder älter"
        "|aufwärts|und aufwärts|mindestens|wenigstens",
        "oder weniger|und weniger|oder darunter|und darunter|oder niedriger|oder kürzer|oder früher"
        "|oder jünger|höchstens|maximal",
    ),
    "fr": (
        "ou plus|et plus|ou davantage|et davantage|et au-delà|ou au-delà|ou plus tard|au moins|au minimum|minimum",
        "ou moins|et moins|ou en dessous|et en dessous|ou au-dessous|et au-dessous|au plus|au maximum|maximum",
    ),
    "es": (
        "o más|y más|o superior|o mayor|o más tarde|o posterior|en adelante|al menos|por lo menos|como mínimo",
        "o menos|y menos|o inferior|o menor|o anterior|como máximo|a lo sumo",
    ),
    "it": (
        "o più|e più|o oltre|e oltre|o superiore|o successivo|in su|almeno|come minimo|al minimo",
        "o meno|e meno|o inferiore|o precedente|in giù|al massimo|come massimo|al più",
    ),
    "nl": (
        "of meer|en meer|of hoger|en hoger|en daarboven|of langer|of later|of ouder|minstens|ten minste"
        "|tenminste|minimaal",
        "of minder|en minder|of lager|en lager|en daaronder|of korter|of eerder|of jonger|hoogstens|maximaal"
        "|ten hoogste",
    ),
}
"""What follows a number or the thing that is counted: a lower limit, then an upper one."""
_COUNTED_WORDS = 2
"""Words that may stand between a number and the limit after it."""
_ORDINALS = {
    "en": "other second third fourth fifth sixth",
    "de": "zweite zweiten zweiter zweites dritte dritten dritter drittes vierte vierten viertes fünfte fünften",
    "fr": "deuxième second seconde troisième quatrième cinquième autre",
    "es": "segundo segunda tercer tercero tercera cuarto cuarta otro otra",
    "it": "secondo seconda terzo terza quarto quarta altro altra",
    "nl": "tweede derde vierde vijfde andere ander",
}
"""Words that say which one of several, as numbers say how many: every other year."""
_ELISION = re.compile(r"\b(?P<word>d|n|l|qu|s|dell|all|nell|dall|sull|un)'(?=\w)", re.IGNORECASE)
_ELIDED = {
    "d": "de ", "n": "ne ", "l": "", "qu": "que ", "s": "", "un": "un ",
    "dell": "di ", "all": "alla ", "nell": "in ", "dall": "da ", "sull": "su ",
}  # fmt: skip


class Language(NamedTuple):
    relations: dict[str, str]
    """The relation that a word expresses; several words are one here, as `marked` writes them."""
    infinitives: frozenset[str]
    """Words that express a relation only before a noun."""
    articles: frozenset[str]
    rates: frozenset[str]
    scales: dict[str, int]
    numbers: dict[str, str]
    scaled: re.Pattern[str]
    """A number with its scale."""
    counted: re.Pattern[str]
    """A number in letters."""
    units: frozenset[str]
    times: frozenset[str]
    """Units of time."""
    ordinals: frozenset[str]
    limits_after: re.Pattern[str] | None
    """A number with the limit that follows it."""
    phrases: re.Pattern[str] | None
    elides: bool

    def marked(self, text: str) -> str:
        """The text with each expression of several words as one: "up to" as "~upto"."""
        if self.elides:
            text = _ELISION.sub(lambda found: _ELIDED[found["word"].casefold()], text)
        if self.limits_after:
            text = self.limits_after.sub(_limit_first, text)
        return self.phrases.sub(lambda found: f" {_mark(found.group())} ", text) if self.phrases else text

    def shown(self, relation: str) -> str:
        """The relation as the language says it."""
        words = [word for word, known in self.relations.items() if known == relation and not word.startswith("~")]
        return words[0] if words else relation.replace("-", " ")


def _limit_first(found: re.Match[str]) -> str:
    """The limit before the number, as "at least" stands."""
    limit = "at-least" if found["least"] or found["plus"] else "up-to"
    return f" {_mark(limit)} {found['number']}{found['counted'] or ''} "


def money(text: str) -> str:
    """The text with the amounts written out that have a scale in letters: €14.2m as € 14200000."""
    return _MONEY.sub(_written_scale, text)


def _written_scale(found: re.Match[str]) -> str:
    number = decimal(found["number"] or found["amount"])
    scale = _MONEY_SCALES[(found["scale"] or found["letters"]).casefold()]
    if number is None or len(number) > SCALED_DIGITS:
        return found.group()
    return f"{found['before'] or ''} {Decimal(number).scaleb(len(str(scale)) - 1).normalize():f} "


def decimal(number: str) -> str | None:
    """The number without its grouping, and with a decimal point."""
    grouped = re.fullmatch(r"(\d{1,3})((?:,\d{3})+)(\.\d+)?|(\d{1,3})((?:\.\d{3})+)(,\d+)?", number)
    if grouped:
        whole, rest, part = grouped.groups()[:3] if grouped[1] else grouped.groups()[3:]
        number = f"{whole}{re.sub('[.,]', '', rest)}{part or ''}"
    return number.replace(",", ".") if re.fullmatch(r"\d+(?:[.,]\d+)?", number) else None


def _mark(phrase: str) -> str:
    letters = "".join(sign for sign in phrase.casefold() if sign.isalpha())
    return "~" + letters.encode().hex().translate(str.maketrans("0123456789", "ghijklmnop"))


def known(code: str) -> bool:
    return code in _RELATIONS


@cache
def language(code: str) -> Language:
    """The small words of the language with this code; of a language without a table, its numbers only."""
    relations, phrases = dict[str, str](), list[str]()
    for line in _RELATIONS.get(code, "").strip().splitlines():
        relation, _, words = line.strip().partition(": ")
        for word in words.split(", "):
            if " " in word or "'" in word:
                phrases.append(word)
                relations[_mark(word)] = relation
            else:
                relations[word] = relation
    relations |= {_mark(limit): limit for limit in ("at-least", "up-to")}
    scales = {
        word: 10 ** int(group.split()[0])
        for group in _SCALES.get(code, _SCALES["en"]).split("|")
        for word in group.split()[1:]
    }
    first, second, third, *others = _NUMBERS.get(code, _NUMBERS["en"]).split()
    numbers = {first: "1", second: "1", third: "1"} | {word: str(value) for value, word in enumerate(others, 2)}
    return Language(
        relations=relations,
        infinitives=frozenset(_INFINITIVES.get(code, "").split()),
        articles=frozenset(_ARTICLES.get(code, "").split()),
        rates=frozenset(_RATES.get(code, "/").split()),
        scales=scales,
        numbers=numbers,
        scaled=re.compile(
            rf"(?<![\w.,])(?P<number>\d+(?:[.,]\d+)*|{'|'.join(numbers)})[ \u00a0-]?(?P<scale>{'|'.join(scales)})\b"
            rf"(?:\.(?=\s?{_CURRENCY}))?",
            re.IGNORECASE,
        ),
        counted=re.compile(rf"\b(?:{'|'.join(others)})\b", re.IGNORECASE),
        units=frozenset(_UNITS.split()),
        times=_TIMES,
        ordinals=frozenset(_ORDINALS.get(code, "").split()),
        limits_after=_limits_after(code, numbers),
        phrases=_alternatives(phrases),
        elides=code in ("fr", "it"),
    )


def _limits_after(code: str, numbers: Iterable[str]) -> re.Pattern[str] | None:
    if code not in _LIMITS_AFTER:
        return None
    least, most = ("|".join(sorted(each.split("|"), key=len, reverse=True)) for each in _LIMITS_AFTER[code])
    # "10 or more than 20" and "10 seats, at least 5 tables" have limits of the number that follows.
    no_number = rf"(?!\s+(?:(?:than|als|dan|que|di|de)\s+)?(?:\d|(?:{'|'.join(numbers)})\b))"
    return re.compile(
        rf"(?<![\w.,])(?P<number>[€$£]?\s?\d+(?:[.,]\d+)*(?:\s?[%‰€$£])?)"
        rf"(?:(?P<plus>\+)|(?P<counted>(?:\s[^\W\d_]+){{0,{_COUNTED_WORDS}}}?)"
        rf"\s(?:(?P<least>{least})|(?P<most>{most}))\b{no_number})",
        re.IGNORECASE,
    )


def _alternatives(phrases: list[str]) -> re.Pattern[str] | None:
    if not phrases:
        return None
    longest_first = sorted(phrases, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE)

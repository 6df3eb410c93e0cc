"""Words that the check of sentences knows: those that say nothing, say the same, or turn a sentence round."""

import re

UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff]"
"""Letters of scripts that do not put spaces between words."""


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


NEGATIONS = _listed(
    "not no never none neither nor nobody nothing without cannot "
    "nicht kein keine keinen keiner keinem keines nie niemals nichts niemand ohne weder "
    "ne pas jamais aucun aucune sans rien nunca ningún ninguno ninguna sin nada "
    "non nessun nessuno nessuna senza niet geen nooit zonder"
)
CONDITIONS = _listed(
    "if unless except excepting only provided otherwise "
    "wenn falls sofern soweit nur ausser si sauf seulement salvo sólo solo solamente "
    "tranne soltanto tenzij alleen behalve"
)
CONDITION_PHRASES: re.Pattern[str] = re.compile(
    r"\b(?:subject to|condition(?:al|ed) (?:up)?on|contingent (?:up)?on|depend(?:ing|ent) (?:up)?on|pending"
    r"|(?:on|under) (?:the )?condition that|(?:as|so) long as|in case|in the event"
    r"|vorbehaltlich|unter (?:dem )?vorbehalt|unter der (?:bedingung|voraussetzung)|vorausgesetzt|abhängig von"
    r"|es sei denn|im falle?|für den fall"
    r"|sous réserve|à (?:la )?condition|pourvu qu|à moins (?:que?|d)|en cas d"
    r"|(?:subordonn|conditionn)ée?s? (?:à|au)|soumise?s? (?:à|au)"
    r"|sujet[oa]s? a|a condición|con la condición|siempre que|a menos que|a no ser que|en caso de"
    r"|(?:supedit|condicion)ad[oa]s? a"
    r"|(?:subordinat|soggett|condizionat)[oaie]|a condizione|purché|a meno che|in caso di"
    r"|onder voorbehoud|(?:op|onder de) voorwaarde|mits|afhankelijk van|behoudens|in geval van|ingeval)\b"
)
"""Conditions of several words, and those that no other of the languages has as a word."""
_LINKS = (
    "a an the this that these those it its he she they them him his her hers their theirs there here we us our you your"
    " i me my is are was were be been being am has have had having do does did done of in on at by for to from with as"
    " and but so then also which who whom whose what where when how why such into onto about s t d re ll ve m will"
    " would according states stated says said passage passages"
    " der die das den dem des ein eine einen einem einer eines und im in am an zu zum zur von vom mit für auf ist sind"
    " war wird werden hat haben le la les un une des du de et en à au aux est sont a ont que qui el los las una y del"
    " al es son ha han"
)
SILENT = _listed(_LINKS) | NEGATIONS | CONDITIONS
"""Words that a sentence may have although its passage has them not: they link, or are looked at apart."""

_GROUPS = {
    "must": "must shall required obliged obligated",
    "may": "may can allowed permitted entitled",
    "%": "percent prozent pourcent procent",
    "€": "eur euro euros",
    "$": "usd dollar dollars",
    "£": "gbp pound pounds",
}
_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty"
)
_TENS = {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
ALIKE = {
    **{word: group for group, words in _GROUPS.items() for word in words.split()},
    **{word: str(number) for number, word in enumerate(_NUMBERS.split())},
    **{word: str(number) for word, number in _TENS.items()},
}
"""Words that count as another: each of a group as its name, a number as its digits."""

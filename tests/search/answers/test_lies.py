"""Lies in the words of the passage: every kind is refused, and the true sentences beside them pass."""

import pytest

from deedbox.search.answers.support import Quote, Source, checked

LIES = [
    # the kind, the passage, what is true, what is a lie
    ("scale left out", "Acme paid 14.2 million euros for Bolt.", "Acme paid €14.2 million.", "Acme paid 14.2 euros."),
    ("scale swapped", "Acme paid 14.2 million euros and 3 thousand shares.", "Acme paid 3 thousand shares.",
     "Acme paid 14.2 thousand euros and 3 million shares."),
    ("scale spelled out wrongly", "Acme paid 14.2 million euros.", "Acme paid 14,200,000 euros.",
     "Acme paid 14,200 euros."),
    ("unit left out", "The interest is 5 % of the rent.", "The interest is 5 percent of the rent.",
     "The interest is 5 of the rent."),
    ("unit of time swapped", "The notice is 30 days and the term is 3 months.", "The notice is 30 days.",
     "The notice is 30 months and the term is 3 days."),
    ("currency swapped", "Acme pays 500 € or 600 $.", "Acme pays 500 € or 600 $.", "Acme pays 500 $ or 600 €."),
    ("counted thing swapped", "The house has 12 flats and 40 tenants.", "The house has 12 flats.",
     "The house has 12 tenants and 40 flats."),
    ("percent for an amount", "The fee is 5 % and 7 €.", "The fee is 5 %.", "The fee is 5 € and 7 %."),
    ("date swapped", "The term runs from 1 May to 7 June.", "The term runs from 1 May.", "The term runs from 1 June."),
    ("rate left out", "The fine is 20 € per day.", "The fine is 20 € per day.", "The fine is 20 €."),
    ("limit turned", "The hall holds up to 140 guests.", "The hall holds up to 140 guests.",
     "The hall holds from 140 guests."),
    ("upper limit left out", "The hall holds up to 140 guests.", "The hall holds at most 140 guests.",
     "The hall holds 140 guests."),
    ("lower limit left out", "At least 3 members vote.", "At least 3 members vote.", "3 members vote."),
    ("at least for at most", "At least 3 members vote for at most 5 days.", "At least 3 members vote.",
     "At most 3 members vote for at least 5 days."),
    ("more for less", "More than 10 votes and less than 20 are needed.", "More than 10 votes are needed.",
     "Less than 10 votes are needed."),
    ("approximation left out", "The house cost about 900 euros.", "The house cost about 900 euros.",
     "The house cost 900 euros."),
    ("agent for object", "The acquisition of Acme ends in May.", "The acquisition of Acme ends in May.",
     "The acquisition by Acme ends in May."),
    ("passive made active", "Acme was acquired by Bolt.", "Acme was acquired by Bolt.", "Acme acquired Bolt."),
    ("payer for payee", "The rent is paid to Acme by Bolt.", "The rent is paid to Acme.", "The rent is paid by Acme."),
    ("receiver dropped", "Acme sold to Bolt.", "Acme sold to Bolt.", "Acme sold Bolt."),
    ("way turned", "The goods go from Bonn to Rome.", "The goods go from Bonn to Rome.",
     "The goods go from Rome to Bonn."),
    ("before for after", "Payment is due before May and delivery after June.", "Payment is due before May.",
     "Payment is due after May."),
    ("deadline left out", "Payment is due before May.", "Payment is due before May.", "Payment is due in May."),
    ("until for from", "The offer stands until May.", "The offer stands until May.", "The offer stands from May."),
    ("within for after", "Acme answers within 30 days.", "Acme answers within 30 days.", "Acme answers after 30 days."),
    ("for turned into against", "Acme voted for the merger and against the sale.", "Acme voted for the merger.",
     "Acme voted for the sale and against the merger."),
    ("range made a choice", "Between 10 and 20 seats are free.", "Between 10 and 20 seats are free.",
     "10 or 20 seats are free."),
    ("or made and", "Acme or Bolt pays the fee.", "Acme or Bolt pays the fee.", "Acme and Bolt pays the fee."),
    ("and made or", "Acme and Bolt pay the fee.", "Acme and Bolt pay the fee.", "Acme or Bolt pay the fee."),
    ("possibility made fact", "The tenant may terminate the lease.", "The tenant can terminate the lease.",
     "The tenant terminates the lease."),
    ("some made all", "Some tenants keep a cat.", "Some tenants keep a cat.", "Tenants keep a cat."),
    ("most made all", "Most of the members agreed.", "Most members agreed.", "The members agreed."),
    ("half made whole", "Half of the rent is due in May.", "Half of the rent is due in May.",
     "The rent is due in May."),
    ("quantifiers swapped", "Most owners and few tenants agreed.", "Most owners agreed.",
     "Few owners and most tenants agreed."),
    ("negation moved", "The owner does not heat and repairs the house.", "The owner does not heat the house.",
     "The owner heats and does not repair the house."),
    ("condition turned", "The lease ends unless the tenant pays.", "The lease ends unless the tenant pays.",
     "The lease ends if the tenant pays."),
    ("without for with", "Acme sells without notice and with profit.", "Acme sells without notice.",
     "Acme sells with notice and without profit."),
    ("sign left out", "The balance is -500 euros.", "The balance is -500 euros.", "The balance is 500 euros."),
    ("German: scale", "Acme zahlte 14,2 Millionen Euro für die Firma.", "Acme zahlte 14,2 Mio Euro für die Firma.",
     "Acme zahlte 14,2 Euro für die Firma."),
    ("German: limit", "Der Saal fasst bis zu 140 Gäste und die Bühne 20.", "Der Saal fasst bis zu 140 Gäste.",
     "Der Saal fasst ab 140 Gäste und die Bühne 20."),
    ("German: agent", "Die Übernahme der Firma durch Bolt ist für die Bank gut.",
     "Die Übernahme der Firma durch Bolt ist gut.", "Die Übernahme der Firma für Bolt ist gut."),
    ("German: deadline", "Die Miete ist vor dem 3. Mai und nach der Wahl fällig.",
     "Die Miete ist vor dem 3. Mai fällig.", "Die Miete ist nach dem 3. Mai fällig."),
    ("French: scale", "La société a payé 3 milliards d'euros pour les actions.",
     "La société a payé 3 milliards d'euros.", "La société a payé 3 euros."),
    ("French: limit", "La salle contient jusqu'à 140 personnes et les loges 20.",
     "La salle contient jusqu'à 140 personnes.", "La salle contient au moins 140 personnes."),
    ("French: agent", "La société a été achetée par Bolt et les actions sont à vendre.",
     "La société a été achetée par Bolt.", "La société a été achetée à Bolt."),
    ("Spanish: scale", "La empresa pagó 5 millones de euros por las acciones.", "La empresa pagó 5 millones de euros.",
     "La empresa pagó 5 euros."),
    ("Spanish: limit", "La sala tiene hasta 140 plazas y los palcos 20.", "La sala tiene hasta 140 plazas.",
     "La sala tiene 140 plazas."),
    ("Spanish: agent", "La casa fue vendida por Bolt a las hijas de Acme.", "La casa fue vendida por Bolt.",
     "La casa fue vendida a Bolt."),
    ("Italian: scale", "La società ha pagato 5 milioni di euro per le azioni.",
     "La società ha pagato 5 milioni di euro.", "La società ha pagato 5 euro."),
    ("Italian: limit", "La sala contiene al massimo 140 persone e il palco 20.",
     "La sala contiene fino a 140 persone.", "La sala contiene almeno 140 persone."),
    ("Italian: deadline", "Il canone si paga entro il 5 maggio e non dopo.",
     "Il canone si paga entro il 5 maggio e non dopo.", "Il canone si paga dopo il 5 maggio e non entro."),
    ("Dutch: scale", "Het bedrijf betaalde 7 miljoen euro voor de aandelen.", "Het bedrijf betaalde 7 miljoen euro.",
     "Het bedrijf betaalde 7 euro."),
    ("Dutch: limit", "De zaal is voor maximaal 140 gasten en het toneel voor 20.",
     "De zaal is voor maximaal 140 gasten.", "De zaal is voor minstens 140 gasten."),
    ("Dutch: agent", "Het huis werd gekocht door Bolt van de stad.", "Het huis werd gekocht door Bolt.",
     "Het huis werd gekocht van Bolt."),
]  # fmt: skip
KINDS = [kind for kind, *_ in LIES]
TRUE = [
    # true sentences in other words, which a stricter comparison would refuse
    ("The rent of EUR 1,250 is due on the first day of each month.", "The rent is €1250 each month."),
    ("The deposit amounts to 30 days of rent.", "The deposit amounts to 30 days of rent."),
    ("The tenant shall pay the rent in May.", "The tenant must pay the rent in May."),
    ("Acme shall deliver 40 new machines by June 2027.", "Acme delivers 40 machines by June 2027."),
    ("In 2024 Acme sold the mill to Bolt.", "Acme sold the mill to Bolt in 2024."),
    ("name: Boris | owes: 70", "Boris owes 70."),
    ("The seller is liable for up to two million dollars.", "The seller is liable for up to $2,000,000."),
    ("Either party may terminate with 30 days' notice.", "Either party may terminate with 30 days notice."),
    ("The meeting was opened by the new chair Ann Bell at 9.", "The meeting was opened by Ann Bell at 9."),
    ("Die Kaution beträgt drei Monate der Miete und ist für die Bank.", "Die Kaution beträgt 3 Monate der Miete."),
]


def is_supported(passage: str, sentence: str) -> bool:
    return checked(sentence, [Quote(1, passage)], [Source(passage)]).supported


@pytest.mark.parametrize(("kind", "passage", "truth", "lie"), LIES, ids=KINDS)
def test_a_lie_is_refused_where_the_truth_passes(kind: str, passage: str, truth: str, lie: str) -> None:
    assert checked(truth, [Quote(1, passage)], [Source(passage)]).reason is None, kind
    assert not is_supported(passage, lie), kind
    assert is_supported(passage, passage), kind


@pytest.mark.parametrize(("passage", "sentence"), TRUE)
def test_true_sentences_in_other_words_pass(passage: str, sentence: str) -> None:
    assert checked(sentence, [Quote(1, passage)], [Source(passage)]).reason is None

"""How often a question in another language finds the one English sentence that says the same: R@1 of `semantic` queries
through the HTTP API, for each model, with intervals that hold 95 % of resamplings of the questions.

The 40 sentences stand in this file, each in English, German, French and Spanish. The English ones are uploaded, one
document each; all others are asked.

Usage: python -m bench.languages [--sentences N] [--models NAME …] [--small]"""

from typing import NamedTuple

import httpx

from bench.client import model_folder, search_server
from bench.options import Options, tell
from bench.ranking import index_all, interval, ranked_documents
from deedbox.search.embed import fetch

LANGUAGES = ("German", "French", "Spanish")


class Said(NamedTuple):
    """One sentence in each language."""

    english: str
    german: str
    french: str
    spanish: str


# fmt: off
SENTENCES = (
    Said("The rent is due on the first day of the month.", "Die Miete ist am ersten Tag des Monats fällig.",
         "Le loyer est dû le premier jour du mois.", "El alquiler vence el primer día del mes."),
    Said("The tenant must return all the keys.", "Der Mieter muss alle Schlüssel zurückgeben.",
         "Le locataire doit rendre toutes les clés.", "El inquilino debe devolver todas las llaves."),
    Said("Pets are not allowed in the apartment.", "Haustiere sind in der Wohnung nicht erlaubt.",
         "Les animaux ne sont pas admis dans l'appartement.", "No se permiten mascotas en el apartamento."),
    Said("The deposit is three months' rent.", "Die Kaution beträgt drei Monatsmieten.",
         "Le dépôt de garantie est de trois mois de loyer.", "La fianza es de tres meses de alquiler."),
    Said("Either side may end the contract in writing.", "Jede Seite kann den Vertrag schriftlich kündigen.",
         "Chaque partie peut résilier le contrat par écrit.", "Cada parte puede rescindir el contrato por escrito."),
    Said("The warranty lasts two years.", "Die Garantie gilt zwei Jahre.",
         "La garantie dure deux ans.", "La garantía dura dos años."),
    Said("The invoice has not been paid yet.", "Die Rechnung ist noch nicht bezahlt.",
         "La facture n'a pas encore été payée.", "La factura todavía no se ha pagado."),
    Said("Please sign on the last page.", "Bitte unterschreiben Sie auf der letzten Seite.",
         "Veuillez signer à la dernière page.", "Por favor, firme en la última página."),
    Said("The goods were damaged during transport.", "Die Ware wurde beim Transport beschädigt.",
         "La marchandise a été endommagée pendant le transport.", "La mercancía se dañó durante el transporte."),
    Said("The employee has thirty days of holiday a year.", "Der Angestellte hat dreißig Tage Urlaub im Jahr.",
         "Le salarié a trente jours de congé par an.", "El empleado tiene treinta días de vacaciones al año."),
    Said("Overtime is paid at a higher rate.", "Überstunden werden besser bezahlt.",
         "Les heures supplémentaires sont mieux payées.", "Las horas extra se pagan mejor."),
    Said("The probation period ends after six months.", "Die Probezeit endet nach sechs Monaten.",
         "La période d'essai se termine au bout de six mois.", "El período de prueba termina a los seis meses."),
    Said("All business secrets stay confidential.", "Alle Geschäftsgeheimnisse bleiben vertraulich.",
         "Tous les secrets d'affaires restent confidentiels.", "Todos los secretos comerciales son confidenciales."),
    Said("The bank charges interest on the loan.", "Die Bank verlangt Zinsen für das Darlehen.",
         "La banque demande des intérêts sur le prêt.", "El banco cobra intereses por el préstamo."),
    Said("The insurance does not cover floods.", "Die Versicherung deckt kein Hochwasser ab.",
         "L'assurance ne couvre pas les inondations.", "El seguro no cubre las inundaciones."),
    Said("The court decided in favour of the buyer.", "Das Gericht entschied zugunsten des Käufers.",
         "Le tribunal a donné raison à l'acheteur.", "El tribunal falló a favor del comprador."),
    Said("The house was built before the war.", "Das Haus wurde vor dem Krieg gebaut.",
         "La maison a été construite avant la guerre.", "La casa se construyó antes de la guerra."),
    Said("The heating broke down in winter.", "Die Heizung ist im Winter ausgefallen.",
         "Le chauffage est tombé en panne en hiver.", "La calefacción se averió en invierno."),
    Said("The garden belongs to the neighbour.", "Der Garten gehört dem Nachbarn.",
         "Le jardin appartient au voisin.", "El jardín pertenece al vecino."),
    Said("The meeting was moved to Thursday.", "Die Besprechung wurde auf Donnerstag verschoben.",
         "La réunion a été reportée à jeudi.", "La reunión se pasó al jueves."),
    Said("The train to the coast was an hour late.", "Der Zug an die Küste hatte eine Stunde Verspätung.",
         "Le train vers la côte avait une heure de retard.", "El tren a la costa llegó con una hora de retraso."),
    Said("The doctor prescribed a stronger medicine.", "Der Arzt verschrieb ein stärkeres Medikament.",
         "Le médecin a prescrit un médicament plus fort.", "El médico recetó un medicamento más fuerte."),
    Said("The children walk to school.", "Die Kinder gehen zu Fuß zur Schule.",
         "Les enfants vont à l'école à pied.", "Los niños van a la escuela a pie."),
    Said("The bread is still warm.", "Das Brot ist noch warm.",
         "Le pain est encore chaud.", "El pan todavía está caliente."),
    Said("It has rained for three days.", "Es regnet seit drei Tagen.",
         "Il pleut depuis trois jours.", "Lleva tres días lloviendo."),
    Said("The bridge is closed for repairs.", "Die Brücke ist wegen Reparaturen gesperrt.",
         "Le pont est fermé pour réparation.", "El puente está cerrado por reparaciones."),
    Said("The password must be changed every year.", "Das Passwort muss jedes Jahr geändert werden.",
         "Le mot de passe doit être changé chaque année.", "La contraseña debe cambiarse cada año."),
    Said("A copy of the data is kept in another city.", "Eine Kopie der Daten liegt in einer anderen Stadt.",
         "Une copie des données se trouve dans une autre ville.", "Una copia de los datos se guarda en otra ciudad."),
    Said("The machine must not be opened while it runs.", "Die Maschine darf im Betrieb nicht geöffnet werden.",
         "La machine ne doit pas être ouverte en marche.", "La máquina no debe abrirse en funcionamiento."),
    Said("The price of electricity has doubled.", "Der Strompreis hat sich verdoppelt.",
         "Le prix de l'électricité a doublé.", "El precio de la electricidad se ha duplicado."),
    Said("The shop is closed on Sundays.", "Das Geschäft ist sonntags geschlossen.",
         "Le magasin est fermé le dimanche.", "La tienda está cerrada los domingos."),
    Said("Smoking is forbidden in the whole building.", "Im ganzen Gebäude ist Rauchen verboten.",
         "Il est interdit de fumer dans tout le bâtiment.", "Está prohibido fumar en todo el edificio."),
    Said("The parcel was delivered to the wrong address.", "Das Paket wurde an die falsche Adresse geliefert.",
         "Le colis a été livré à la mauvaise adresse.", "El paquete se entregó en la dirección equivocada."),
    Said("The car needs new brakes.", "Das Auto braucht neue Bremsen.",
         "La voiture a besoin de nouveaux freins.", "El coche necesita frenos nuevos."),
    Said("The river flows into the sea.", "Der Fluss mündet ins Meer.",
         "Le fleuve se jette dans la mer.", "El río desemboca en el mar."),
    Said("The teacher corrected the exams at night.", "Die Lehrerin korrigierte die Prüfungen nachts.",
         "L'enseignante a corrigé les examens la nuit.", "La profesora corrigió los exámenes por la noche."),
    Said("The company was sold to its staff.", "Die Firma wurde an ihre Belegschaft verkauft.",
         "L'entreprise a été vendue à son personnel.", "La empresa se vendió a sus trabajadores."),
    Said("Half of the harvest was lost to frost.", "Die Hälfte der Ernte ging durch Frost verloren.",
         "La moitié de la récolte a été perdue à cause du gel.", "La mitad de la cosecha se perdió por la helada."),
    Said("The flight was cancelled because of fog.", "Der Flug wurde wegen Nebels gestrichen.",
         "Le vol a été annulé à cause du brouillard.", "El vuelo se canceló a causa de la niebla."),
    Said("The old mayor was elected again.", "Der alte Bürgermeister wurde wiedergewählt.",
         "L'ancien maire a été réélu.", "El antiguo alcalde fue reelegido."),
)
# fmt: on


def measure(client: httpx.Client, count: int) -> dict[str, list[float]]:
    """For each question 1 if its sentence came first, by language."""
    said = SENTENCES[:count]
    ids = index_all(client, {str(number): one.english for number, one in enumerate(said)})
    found: dict[str, list[float]] = {}
    for place, language in enumerate(LANGUAGES, 1):
        asked = [ranked_documents(client, one[place], "semantic", ids)[:1] for one in said]
        found[language] = [float(best == [str(number)]) for number, best in enumerate(asked)]
    return found


def main() -> None:
    options = Options(__doc__)
    options.size("sentences", len(SENTENCES), small=3, help="so many of those in this file")
    options.add_argument("--models", nargs="+", default=[fetch.DEFAULT.name], help="known names; the default alone")
    wish = options.wish()
    for name in wish.models:
        print(name)
        with search_server(model_folder(name)) as client:
            found = measure(client, wish.sentences)
        for language, right in found.items():
            print(f"  {language:10} R@1 {interval(right)}")
        every = [one for right in found.values() for one in right]
        print(f"  all {len(every):3}    R@1 {interval(every)}", flush=True)
        tell(wish, **{name: f"{sum(every) / len(every):.2f}"})


if __name__ == "__main__":
    main()

"""The sentences of the German report's footnotes: why a place is blank, what a figure means. Data.

They begin small and have no full stop; slots are those of phrases.py.
"""

from __future__ import annotations

from collections.abc import Mapping

_FOOTNOTES = {
    "failed": "gescheitert",
    "impossible": "unmöglich",
    "pending": "ausstehend",
    "{t} ({x}, error number {n})": "{0} ({1}, Fehlernummer {2})",
    "{n} of {n} trials {t}": "{0} von {1} Messungen {2}",
    "{n} of {n} trials: {t}": "{0} von {1} Messungen: {2}",
    "{n} cell not measured": "{0} Zelle nicht gemessen",
    "{n} cells not measured": "{0} Zellen nicht gemessen",
    "not asked for by the matrix": "von der Matrix nicht verlangt",
    "no ceiling: the protocol cannot carry such a message": (
        "keine Obergrenze: das Protokoll kann eine solche Nachricht nicht befördern"
    ),
    "not counted": "nicht gezählt",
    "not recorded": "nicht aufgezeichnet",
    "not captured": "nicht mitgeschnitten",
    "nothing was captured": "nichts wurde mitgeschnitten",
    "nothing was captured: {x}": "nichts wurde mitgeschnitten: {0}",
    "fewer than {n} trials have a result, so that there is no interval": (
        "weniger als {0} Messungen haben ein Ergebnis, daher gibt es kein Intervall"
    ),
    "above the wire ceiling by more than {n} %: a clock, or the rate stated for the link, is not "
    "what it is taken for": (
        "um mehr als {0} % über der Obergrenze der Leitung: eine Uhr oder die angegebene Rate der "
        "Strecke ist nicht, wofür sie gehalten wird"
    ),
    "without TCP timestamps; whether they were in use is not recorded. With them the ceiling is "
    "{n} Mbit/s": (
        "ohne TCP-Zeitstempel; ob sie benutzt wurden, ist nicht aufgezeichnet. Mit ihnen ist die "
        "Obergrenze {0} Mbit/s"
    ),
    "within one machine: no cable was touched, and it is in no mean": (
        "innerhalb eines Rechners: kein Kabel wurde berührt; in keinem Durchschnitt"
    ),
    "measured at the same time as others, but did not send over the whole common window": (
        "gleichzeitig mit anderen gemessen, sendete aber nicht über das ganze gemeinsame Fenster"
    ),
    "above {n} Mbit/s, the most payload that the link’s framing leaves: what was sent and not what "
    "arrived, or a clock that goes wrong": (
        "über {0} Mbit/s, der meisten Nutzlast, die die Rahmung der Strecke lässt: was gesendet "
        "wurde und nicht, was ankam, oder eine Uhr, die falsch geht"
    ),
    "above {n} Mbit/s, the most payload of messages of whichever length that the link’s framing "
    "leaves: what was sent and not what arrived, or a clock that goes wrong": (
        "über {0} Mbit/s, der meisten Nutzlast von Nachrichten gleich welcher Länge, die die "
        "Rahmung der Strecke lässt: was gesendet wurde und nicht, was ankam, oder eine Uhr, die "
        "falsch geht"
    ),
    "far off the median of the pairs that used a cable, {t}: modified z score above {n}": (
        "weit vom Median der Paare mit Kabel, {0}: modifizierter z-Wert über {1}"
    ),
    "a trial that ran at the same time has no figure": (
        "eine gleichzeitige Messung hat keinen Wert"
    ),
    "a flow was not sending over the whole of the common window": (
        "ein Fluss sendete nicht über das ganze gemeinsame Fenster"
    ),
    "the clock of one of the hosts ran off the controller’s by more than 0.1 % of the window": (
        "die Uhr eines der Rechner lief um mehr als 0,1 % des Fensters von der der Steuerung weg"
    ),
    "whether the hosts’ clocks kept step with the controller’s is not recorded": (
        "ob die Uhren der Rechner mit der der Steuerung Schritt hielten, ist nicht aufgezeichnet"
    ),
    "the sender was faster than the line rate stated: the link is another one, and the share is of "
    "the rate stated": (
        "der Sender war schneller als die angegebene Leitungsrate: die Strecke ist eine andere, "
        "und der Anteil ist der der angegebenen Rate"
    ),
    "shared: one machine id. Some of the hosts are one machine, and the figure is that of all of "
    "them; its backlog cannot be told apart": (
        "geteilt: eine Maschinenkennung. Einige der Rechner sind eine Maschine, und der Wert ist "
        "der von allen; ihr Rückstau ist nicht zu trennen"
    ),
    "in some trial no round trip came to an end at that load": (
        "in einer Messung kam bei dieser Last kein Umlauf ans Ende"
    ),
    "the device forwards frames as fast as the line brings them: any burst passes": (
        "das Gerät leitet Rahmen so schnell weiter, wie die Leitung sie bringt: jeder Stoß kommt "
        "durch"
    ),
    "our own hosts dropped frames of a burst: nothing is known of the device": (
        "unsere eigenen Rechner verwarfen Rahmen eines Stoßes: über das Gerät ist nichts bekannt"
    ),
    "our sender is slower than the line: it sends no bursts at line rate": (
        "unser Sender ist langsamer als die Leitung: er sendet keine Stöße mit Leitungsrate"
    ),
    "single times are not recorded, only their sum": (
        "einzelne Zeiten sind nicht aufgezeichnet, nur ihre Summe"
    ),
    "{n} % cannot be told from fewer than {n} round trips": (
        "{0} % lassen sich aus weniger als {1} Umläufen nicht bestimmen"
    ),
    "{n} % cannot be told from fewer than {n} of them": (
        "{0} % lassen sich aus weniger als {1} davon nicht bestimmen"
    ),
    "one value has no deviation": "ein einzelner Wert hat keine Abweichung",
    "the link was not stated": "die Strecke ist nicht angegeben",
    "the link’s rate was not stated": "die Rate der Strecke ist nicht angegeben",
    "the length of the request was not stated": "die Länge der Anfrage ist nicht angegeben",
    "the segment size of TCP is not recorded": "die Segmentgröße von TCP ist nicht aufgezeichnet",
    "the whole is shorter than the link and the stack take together: the link is faster than "
    "stated, or delays no frame by itself (as a shaped virtual cable)": (
        "das Ganze ist kürzer als Strecke und Stack zusammen: die Strecke ist schneller als "
        "angegeben oder verzögert keinen Rahmen von sich aus (wie ein geformtes virtuelles Kabel)"
    ),
    "the mirror has no agent: nobody there takes stamps": (
        "der Spiegel hat keinen Agenten: dort nimmt niemand Zeitstempel"
    ),
    "the mirror’s system takes no stamps (capability-missing)": (
        "das System des Spiegels nimmt keine Zeitstempel (capability-missing)"
    ),
    "the mirror’s system gave no stamps": "das System des Spiegels gab keine Zeitstempel",
    "the host’s system does not tell": "das System des Rechners sagt es nicht",
    "the sweep has no result at {x}": "der Durchlauf hat kein Ergebnis bei {0}",
    "our own hosts lost frames at that rate, or could not send them, in some trial: it says "
    "nothing of the device": (
        "unsere eigenen Rechner verloren bei dieser Rate Rahmen oder konnten sie nicht senden: "
        "das sagt nichts über das Gerät"
    ),
    "searched by itself: no other pair of hosts was there": (
        "allein gesucht: kein anderes Rechnerpaar war da"
    ),
    "not even the lowest rate of the grid passed in some of the trials": (
        "in manchen Messungen kam nicht einmal die niedrigste Rate des Rasters durch"
    ),
    "not monotone: in some trial a higher rate passed, or a lower one failed; the limit is no "
    "sharp edge": (
        "nicht monoton: in einer Messung kam eine höhere Rate durch oder eine niedrigere nicht; "
        "die Grenze ist keine scharfe Kante"
    ),
}
_REASONS = {
    "the probe could not read the request as one": "die Sonde konnte die Anfrage nicht lesen",
    "the request was longer than the control protocol's 8192 bytes": (
        "die Anfrage war länger als die 8192 Byte des Steuerprotokolls"
    ),
    "the probe does not know the request's verb": "die Sonde kennt das Verb der Anfrage nicht",
    "the probe does not know a key of the request": (
        "die Sonde kennt einen Schlüssel der Anfrage nicht"
    ),
    "the request lacked a key that the probe needs": (
        "der Anfrage fehlte ein Schlüssel, den die Sonde braucht"
    ),
    "a value of the request was outside of what the probe takes": (
        "ein Wert der Anfrage lag außerhalb dessen, was die Sonde annimmt"
    ),
    "the request's id was already in use": "die Kennung der Anfrage war schon vergeben",
    "the probe knows no test of that id": "die Sonde kennt keinen Test mit dieser Kennung",
    "more than 64 tests at once were asked of one agent": (
        "von einem Agenten wurden mehr als 64 Tests zugleich verlangt"
    ),
    "the message is longer than the protocol or the path can carry": (
        "die Nachricht ist länger, als Protokoll oder Weg sie befördern können"
    ),
    "the system refused every send call for want of buffer space": (
        "das System lehnte jeden Sendeaufruf mangels Pufferplatz ab"
    ),
    "the host's system cannot do what the cell asks for": (
        "das System des Rechners kann nicht, was die Zelle verlangt"
    ),
    "the host's system demands rights that the probe does not have": (
        "das System des Rechners verlangt Rechte, die die Sonde nicht hat"
    ),
    "the other host refused the connection": "der andere Rechner lehnte die Verbindung ab",
    "there was no route to the other host": "es gab keinen Weg zum anderen Rechner",
    "the other host did not answer the connection in time": (
        "der andere Rechner beantwortete die Verbindung nicht rechtzeitig"
    ),
    "the address or port was already in use": "Adresse oder Port war schon belegt",
    "the host does not have the address that it should use": (
        "der Rechner hat die Adresse nicht, die er benutzen soll"
    ),
    "the host has no network interface of that name": (
        "der Rechner hat keine Netzschnittstelle dieses Namens"
    ),
    "the other probe did not come before the deadline": (
        "die andere Sonde kam nicht vor Ablauf der Frist"
    ),
    "the connection was reset or ended early": (
        "die Verbindung wurde zurückgesetzt oder endete vorzeitig"
    ),
    "the other probe came, but no message arrived": (
        "die andere Sonde kam, aber keine Nachricht traf ein"
    ),
    "fewer than 20 marks fell into the window: too few for a figure": (
        "weniger als 20 Marken fielen in das Fenster: zu wenige für einen Wert"
    ),
    "the trial's own deadline passed before it ended": (
        "die Frist der Messung lief ab, ehe sie endete"
    ),
    "the trial was stopped before it had a result": (
        "die Messung wurde angehalten, ehe sie ein Ergebnis hatte"
    ),
    "the CPU to pin to may not be used, or spinning would take every CPU": (
        "die CPU darf nicht benutzt werden, oder das aktive Warten nähme jede CPU"
    ),
    "the host had no memory for the trial": "der Rechner hatte keinen Speicher für die Messung",
    "a system call failed in a way that has no word of its own": (
        "ein Systemaufruf scheiterte auf eine Weise, die kein eigenes Wort hat"
    ),
    "another controller was measuring with this host": (
        "eine andere Steuerung maß mit diesem Rechner"
    ),
    "the host did not answer, or runs its other operating system": (
        "der Rechner antwortete nicht oder läuft mit seinem anderen Betriebssystem"
    ),
    "the host stopped answering during the trial": (
        "der Rechner antwortete während der Messung nicht mehr"
    ),
    "the host refused the login, or its key is not the one that is known": (
        "der Rechner lehnte die Anmeldung ab, oder sein Schlüssel ist nicht der bekannte"
    ),
    "the probe ended during the trial": "die Sonde endete während der Messung",
    "the probe's answer could not be read": "die Antwort der Sonde war nicht zu lesen",
    "no answer came in time: of the probe, or to any request of the test": (
        "keine Antwort kam rechtzeitig: von der Sonde oder auf irgendeine Anfrage des Tests"
    ),
    "the check before the run found that packets do not pass this way": (
        "die Prüfung vor dem Lauf ergab, dass Pakete hier nicht durchkommen"
    ),
    "the traffic did not take the test network": "der Verkehr nahm nicht das Testnetz",
    "the run was interrupted during the trial": "der Lauf wurde während der Messung unterbrochen",
    "our own hosts lost frames, or could not send them, at every rate tried": (
        "unsere eigenen Rechner verloren bei jeder versuchten Rate Rahmen oder konnten sie nicht "
        "senden"
    ),
    "another pair of hosts left the search that both made together": (
        "ein anderes Rechnerpaar verließ die gemeinsame Suche"
    ),
    "not measured yet": "noch nicht gemessen",
    "the imported document has no value here": ("das übernommene Dokument hat hier keinen Wert"),
    "the probe gave an error word that this netlab does not know": (
        "die Sonde gab ein Fehlerwort, das dieses netlab nicht kennt"
    ),
    "netlab itself failed; this is a fault of the program": (
        "netlab selbst scheiterte; das ist ein Fehler des Programms"
    ),
}

SENTENCES: Mapping[str, str] = {**_FOOTNOTES, **_REASONS}
"""English → German."""

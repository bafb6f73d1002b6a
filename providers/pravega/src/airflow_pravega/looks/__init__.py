"""One check of a stream for all triggers of a triggerer that wait for it.

A triggerer may hold thousands of triggers. Those that wait for the same thing of the same stream, by connections with
the same settings, share one loop that asks the servers (`shared`); what it asks is in `questions`, how often in `pace`.
"""

from airflow_pravega.looks.questions import DescriptionOf, Marks, Question, StateOfTransaction, TailOf
from airflow_pravega.looks.shared import Look, Seen, shared_look

__all__ = ["DescriptionOf", "Look", "Marks", "Question", "Seen", "StateOfTransaction", "TailOf", "shared_look"]

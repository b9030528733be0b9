"""A sheet of people's labels, and one of a judge's verdicts."""

from __future__ import annotations

LABELS = """id,question,answer,gold,label
1,Capital of France?,Paris,Paris,right
2,Capital of Italy?,It is Milan,Rome,wrong
3,Who wrote Hamlet?,Shakespeare did,William Shakespeare,right
4,In which year?,I don't know,1912,wrong
5,Largest planet?,Saturn,Jupiter,wrong
6,Smallest prime?,It is two,2,right
"""

VERDICTS = "id,verdict,why\n1,right,a\n2,right,b\n3,right,c\n4,wrong,d\n5,wrong,e\n6,,f\n"

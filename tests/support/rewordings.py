"""A fixed graph, questions of it with their answers, and Cypher that asks them in any number of equal ways."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import networkx as nx

ENTITIES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "MiniMax-M1": ("Model", ("M1",)),
    "MiniMax-Text-01": ("Model", ()),
    "GPT-4": ("Model", ()),
    "BERT": ("Model", ("Bidirectional Encoder",)),
    "ＤｅｅｐＳｅｅｋ-R1": ("Model", ("DeepSeek R1",)),
    "Lightning Attention": ("Method", ()),
    "Mixture-of-Experts": ("Method", ("MoE",)),
    "CISPO": ("Method", ()),
    "GRPO": ("Method", ()),
    "AIME 2024": ("Benchmark", ("AIME",)),
    "SWE-bench": ("Benchmark", ()),
    "LongBench": ("Benchmark", ()),
    "SynLogic": ("Dataset", ()),
    "Wikipedia": ("Dataset", ("维基百科",)),
    "MiniMax": ("Organisation", ()),
    "OpenAI": ("Organisation", ()),
    "DeepSeek": ("Organisation", ()),
    "Google": ("Organisation", ()),
    "Shanghai": ("Place", ("上海",)),
    "O'Brien": ("Person", ()),
    "H800": ("", ()),
}
FACTS: Sequence[tuple[str, str, str, str]] = (
    ("MiniMax-M1", "EXTENDS", "MiniMax-Text-01", "is the successor of"),
    ("MiniMax-M1", "USES", "Lightning Attention", "uses"),
    ("MiniMax-M1", "USES", "Mixture-of-Experts", "adopts"),
    ("MiniMax-M1", "TRAINED_ON", "SynLogic", "was trained on"),
    ("MiniMax-M1", "TRAINED_ON", "H800", "was trained with"),
    ("MiniMax-M1", "EVALUATED_ON", "AIME 2024", "was evaluated on"),
    ("MiniMax-M1", "EVALUATED_ON", "SWE-bench", "was tested on"),
    ("MiniMax-M1", "OUTPERFORMS", "ＤｅｅｐＳｅｅｋ-R1", "outperforms"),
    ("MiniMax-M1", "COMPARED_WITH", "GPT-4", "is compared with"),
    ("MiniMax-Text-01", "USES", "Lightning Attention", "is built with"),
    ("MiniMax-Text-01", "EVALUATED_ON", "LongBench", "was evaluated on"),
    ("MiniMax", "PROPOSES", "MiniMax-M1", "releases"),
    ("MiniMax", "PROPOSES", "MiniMax-Text-01", "introduced"),
    ("MiniMax", "PROPOSES", "CISPO", "proposes"),
    ("MiniMax", "LOCATED_IN", "Shanghai", "is based in"),
    ("CISPO", "OUTPERFORMS", "GRPO", "is faster than"),
    ("MiniMax-M1", "USES", "CISPO", "is trained by"),
    ("ＤｅｅｐＳｅｅｋ-R1", "USES", "GRPO", "uses"),
    ("ＤｅｅｐＳｅｅｋ-R1", "EVALUATED_ON", "AIME 2024", "was evaluated on"),
    ("DeepSeek", "PROPOSES", "ＤｅｅｐＳｅｅｋ-R1", "released"),
    ("DeepSeek", "PROPOSES", "GRPO", "introduces"),
    ("OpenAI", "PROPOSES", "GPT-4", "develops"),
    ("Google", "PROPOSES", "BERT", "created"),
    ("BERT", "TRAINED_ON", "Wikipedia", "was pre-trained on"),
    ("O'Brien", "AFFILIATED_WITH", "Google", "works at"),
    ("O'Brien", "RELATED_TO", "BERT", "reviewed"),
    ("Lightning Attention", "IMPROVES", "Lightning Attention", "improves itself"),
)


def fixed_graph() -> nx.MultiDiGraph[str]:
    """Entity ids are their names."""
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for name, (type_, aliases) in ENTITIES.items():
        graph.add_node(name, name=name, type=type_, aliases=aliases, documents=("d1",))
    for number, (subject, relation, object_, wording) in enumerate(FACTS):
        facts = {"wordings": (wording,), "triples": (f"t{number}",), "documents": ("d1",), "confidence": 1.0}
        graph.add_edge(subject, object_, key=relation, relation=relation, **facts)
    return graph


@dataclass(frozen=True)
class Question:
    """`edges`: (variable, relations, variable); relations are names with `|` between, `*1..2` behind for a path, `~`
    before for either direction. `names` and `types` pin variables. Each of `where` is a row of equal wordings, with
    {a} for a variable."""

    text: str
    edges: tuple[tuple[str, str, str], ...]
    answers: frozenset[str]
    names: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    where: tuple[tuple[str, ...], ...] = ()


def _q(text: str, edges: str, answers: str, names: str = "", types: str = "", *where: tuple[str, ...]) -> Question:
    """'a TRAINED_ON b, b USES c'; 'A; B'; 'a=BERT, b=GPT-4'."""
    rows = tuple((s, r, o) for s, r, o in (each.split() for each in edges.split(", ") if each))

    def pairs(said: str) -> dict[str, str]:
        return dict(each.split("=") for each in said.split(", ") if each)

    return Question(text, rows, frozenset(answers.split("; ")) - {""}, pairs(names), pairs(types), where)


QUESTIONS: tuple[Question, ...] = (
    _q("What was M1 trained on?", "a TRAINED_ON b", "SynLogic; H800", "a=MiniMax-M1"),
    _q("What was it trained on, by its alias?", "a TRAINED_ON b", "SynLogic; H800", "a=m1"),
    _q("Which data sets?", "a TRAINED_ON b", "SynLogic", "a=MiniMax-M1", "b=Dataset"),
    _q("Which benchmarks?", "a EVALUATED_ON b", "AIME 2024; SWE-bench", "a=MiniMax-M1", "b=Benchmark"),
    _q("What was evaluated on AIME?", "a EVALUATED_ON b", "MiniMax-M1; ＤｅｅｐＳｅｅｋ-R1", "b=AIME"),
    _q("Who proposed M1?", "a PROPOSES b", "MiniMax", "b=MiniMax-M1"),
    _q("What does MiniMax propose?", "a PROPOSES b", "MiniMax-M1; MiniMax-Text-01; CISPO", "a=MiniMax"),
    _q("Which methods does MiniMax propose?", "a PROPOSES b", "CISPO", "a=MiniMax", "b=Method"),
    _q("Who developed BERT?", "a PROPOSES b", "Google", "b=bert"),
    _q("Where is MiniMax?", "a LOCATED_IN b", "Shanghai", "a=MiniMax"),
    _q("Who is in 上海?", "a LOCATED_IN b", "MiniMax", "b=上海"),
    _q("What does M1 outperform?", "a OUTPERFORMS b", "ＤｅｅｐＳｅｅｋ-R1", "a=MiniMax-M1"),
    _q("What outperforms DeepSeek-R1, half width?", "a OUTPERFORMS b", "MiniMax-M1", "b=deepseek-r1"),
    _q("What outperforms GRPO?", "a OUTPERFORMS b", "CISPO", "b=GRPO"),
    _q("What uses Lightning Attention?", "a USES b", "MiniMax-M1; MiniMax-Text-01", "b=Lightning Attention"),
    _q("What does M1 use?", "a USES b", "Lightning Attention; Mixture-of-Experts; CISPO", "a=MiniMax-M1"),
    _q("What does M1 use or extend?", "a USES|EXTENDS b",
       "Lightning Attention; Mixture-of-Experts; CISPO; MiniMax-Text-01", "a=MiniMax-M1"),
    _q("Who made what uses MoE?", "a PROPOSES b, b USES c", "MiniMax", "c=MoE"),
    _q("Where is the maker of M1?", "a PROPOSES b, a LOCATED_IN c", "Shanghai", "b=MiniMax-M1"),
    _q("What is evaluated on AIME and by whom proposed?", "a PROPOSES b, b EVALUATED_ON c", "MiniMax; DeepSeek",
       "c=AIME 2024"),
    _q("What do models use that DeepSeek proposes?", "a PROPOSES b, b USES c", "GRPO", "a=DeepSeek"),
    _q("Who proposed the rival of M1?", "a OUTPERFORMS b, c PROPOSES b", "DeepSeek", "a=MiniMax-M1"),
    _q("Who works at the maker of BERT?", "a PROPOSES b, c AFFILIATED_WITH a", "O'Brien", "b=BERT"),
    _q("Where does O'Brien work?", "a AFFILIATED_WITH b", "Google", "a=O'Brien"),
    _q("What else has the maker of CISPO made?", "a PROPOSES b, a PROPOSES c", "MiniMax-M1; MiniMax-Text-01",
       "b=CISPO"),
    _q("What is around GPT-4?", "a ~ b", "MiniMax-M1; OpenAI", "a=GPT-4"),
    _q("What is around BERT?", "a ~ b", "Google; Wikipedia; O'Brien", "a=BERT"),
    _q("What is compared with GPT-4?", "a ~COMPARED_WITH b", "MiniMax-M1", "a=GPT-4"),
    _q("How are M1 and GRPO related?", "a ~*1..2 b", "MiniMax-M1; GRPO", "a=MiniMax-M1, b=GRPO"),
    _q("What lies within two hops of Shanghai?", "a ~*1..2 b", "MiniMax; MiniMax-M1; MiniMax-Text-01; CISPO",
       "a=Shanghai"),
    _q("What does MiniMax reach in two or three steps?", "a *2..3 b",
       "Lightning Attention; Mixture-of-Experts; CISPO; GRPO; SynLogic; H800; AIME 2024; SWE-bench; GPT-4; LongBench; "
       "ＤｅｅｐＳｅｅｋ-R1; MiniMax-Text-01", "a=MiniMax"),
    _q("By USES alone?", "a USES|OUTPERFORMS*1..3 b",
       "Lightning Attention; Mixture-of-Experts; CISPO; GRPO; ＤｅｅｐＳｅｅｋ-R1", "a=MiniMax-M1"),
    _q("How is M1 related to DeepSeek-R1?", "a ~ b", "MiniMax-M1; ＤｅｅｐＳｅｅｋ-R1", "a=M1, b=DeepSeek R1"),
    _q("What do M1 and Text-01 share?", "a USES b, c USES b", "MiniMax-M1; MiniMax-Text-01; Lightning Attention",
       "a=MiniMax-M1, c=MiniMax-Text-01"),
    _q("What improves itself?", "a IMPROVES a", "Lightning Attention"),
    _q("Which models are evaluated?", "a EVALUATED_ON b",
       "MiniMax-M1; MiniMax-Text-01; ＤｅｅｐＳｅｅｋ-R1; AIME 2024; SWE-bench; LongBench", "", "a=Model"),
    _q("Which are places?", "", "Shanghai", "", "a=Place"),
    _q("Which is called 维基百科?", "", "Wikipedia", "a=维基百科"),
    _q("What of MiniMax's is not a model?", "a PROPOSES b", "CISPO", "a=MiniMax", "",
       ("NOT {b}.type = 'Model'", "{b}.type <> 'Model'", "NOT {b}:Model", "NOT ({b}.type IN ['Model'])")),
    _q("What does M1 use whose name has attention in it?", "a USES b", "Lightning Attention", "a=MiniMax-M1", "",
       ("{b}.name CONTAINS 'Attention'", "toLower({b}.name) CONTAINS 'attention'", "{b}.name =~ '(?i).*attention.*'",
        "toUpper({b}.name) CONTAINS toUpper('attention')")),
    _q("What was M1 trained on that starts with Syn?", "a TRAINED_ON b", "SynLogic", "a=M1", "",
       ("{b}.name STARTS WITH 'Syn'", "{b}.name =~ 'Syn.*'", "toLower({b}.name) STARTS WITH 'syn'")),
    _q("What was M1 trained on that has no type?", "a TRAINED_ON b", "H800", "a=M1", "",
       ("{b}.type IS NULL", "NOT {b}.type IS NOT NULL", "NOT (exists({b}.type))")),
    _q("Who proposed GPT-4 or BERT?", "a PROPOSES b", "OpenAI; Google", "", "",
       ("{b}.name IN ['GPT-4', 'BERT']", "{b}.name = 'GPT-4' OR {b}.name = 'BERT'", "{b}.name =~ '(?i)gpt-4|bert'",
        "NOT ({b}.name <> 'bert' AND {b}.name <> 'gpt-4')", "(({b}.name IN ['bert']) OR ('GPT-4' IN {b}.aliases))")),
    _q("What does it do to R1, in its words?", "a ~ b", "MiniMax-M1; ＤｅｅｐＳｅｅｋ-R1", "a=M1, b=DeepSeek-R1", "",
       ("{a} <> {b}", "NOT {a} = {b}", "{b} <> {a}", "id({a}) <> id({b})")),
    _q("What relates to BERT beside its maker?", "a ~ b", "Wikipedia; O'Brien", "a=BERT", "",
       ("{b}.name <> 'Google' AND ({b}.type = 'Dataset' OR {b}.type = 'Person')",
        "NOT {b}.name = 'google' AND {b}.type IN ['Person', 'Dataset']", "{b}:Dataset|Person AND {b}.name <> 'Google'",
        "NOT ({b}.name = 'Google' OR NOT ({b}.type = 'dataset' OR {b}.type = 'person'))")),
)  # fmt: skip


@dataclass
class Reworder:
    """Writes a question as Cypher; each choice is the generator's. `parameters` are of the last query."""

    rng: random.Random
    parameters: dict[str, str] = field(default_factory=dict)

    def write(self, question: Question) -> str:
        self.parameters = {}
        self._names = self._variables(question)
        conditions = [self._said(self.rng.choice(ways)) for ways in question.where]
        inline: dict[str, list[str]] = {}
        labels: dict[str, str] = {}
        for variable, name in question.names.items():
            self._pin(variable, "name", name, inline, conditions)
        for variable, type_ in question.types.items():
            if self.rng.random() < 0.4:
                labels[variable] = f":{type_}"
            else:
                self._pin(variable, "type", type_, inline, conditions)
        pieces = self._pieces(question, inline, labels, conditions)
        self.rng.shuffle(conditions)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        text = f"MATCH {', '.join(pieces)}{where} {self._result()}"
        return self._wrapped(self._spaced(text))

    def _variables(self, question: Question) -> dict[str, str]:
        used = {*(end for edge in question.edges for end in (edge[0], edge[2])), *question.names, *question.types}
        pool = ["a", "b", "c", "x", "n1", "model", "y_2", "Source", "target", "名"]
        return dict(zip(sorted(used), self.rng.sample(pool, len(used)), strict=True))

    def _said(self, template: str) -> str:
        text = re.sub(r"\{(\w)\}", lambda found: self._names[found[1]], template)
        return f"({text})"

    def _pin(self, variable: str, key: str, value: str, inline: dict[str, list[str]], conditions: list[str]) -> None:
        name = self._names[variable]
        text = self._text(self._recased(value))
        if self.rng.random() < 0.4:
            inline.setdefault(variable, []).append(f"{key}: {text}")
            return
        ways = [f"{name}.{key} = {text}", f"{text} = {name}.{key}", f"{name}.{key} IN [{text}]"]
        if key == "name":
            ways += [f"toLower({name}.name) = {text}", f"toLower({name}.name) = toLower({text})",
                     f"{text} IN {name}.aliases", f"({name}.name = {text} OR {text} IN {name}.aliases)",
                     f"any(z IN {name}.aliases WHERE z = {text})"]  # fmt: skip
        conditions.append(self.rng.choice(ways))

    def _recased(self, value: str) -> str:
        return self.rng.choice((value, value, value.lower(), value.upper()))

    def _text(self, value: str) -> str:
        if self.rng.random() < 0.3:
            name = f"p{len(self.parameters)}"
            self.parameters[name] = value
            return f"${name}"
        if "'" in value:
            return self.rng.choice((f'"{value}"', "'" + value.replace("'", "\\'") + "'"))
        return self.rng.choice((f"'{value}'", f'"{value}"'))

    def _pieces(
        self, question: Question, inline: dict[str, list[str]], labels: dict[str, str], conditions: list[str]
    ) -> list[str]:
        pieces = []
        self._inline, self._labels = dict(inline), dict(labels)
        edges = list(question.edges)
        self.rng.shuffle(edges)
        while edges:
            source, said, target = edges.pop()
            piece = self._link(source, said, target, conditions)
            # As one chain where the next edge begins or ends at the last node.
            last = piece[1]
            joined = next((edge for edge in edges if last in (edge[0], edge[2])), None)
            text = piece[0]
            while joined is not None and self.rng.random() < 0.7:
                edges.remove(joined)
                more, last = self._link(*joined, conditions, start=last)
                text += more
                joined = next((edge for edge in edges if last in (edge[0], edge[2])), None)
            pieces.append(self._path() + text)
        alone = set(self._names) - {end for edge in question.edges for end in (edge[0], edge[2])}
        pieces += [self._node(variable) for variable in sorted(alone)]
        return pieces

    def _path(self) -> str:
        return f"path{self.rng.randint(0, 10**6)} = " if self.rng.random() < 0.15 else ""

    def _link(self, source: str, said: str, target: str, conditions: list[str], start: str = "") -> tuple[str, str]:
        """An edge with its end nodes, or without its first where that is `start`; and the node that it ends at."""
        undirected = said.startswith("~")
        relation, _, hops = said.removeprefix("~").partition("*")
        turned = source != start if start else self.rng.random() < 0.5
        first, second = (target, source) if turned else (source, target)
        inside = self._relation(relation, bool(hops), conditions) + (f"*{hops}" if hops else "")
        body = f"-[{inside}]-" if inside else self.rng.choice(("-[]-", "--"))
        ways = (body, body, f"<{body}>") if undirected else (f"<{body}",) if turned else (f"{body}>",)
        body = self.rng.choice(ways)
        return ("" if start else self._node(first)) + body + self._node(second), second

    def _relation(self, relation: str, is_path: bool, conditions: list[str]) -> str:
        name = f"r{self.rng.randint(0, 10**6)}"
        if not relation:
            return self.rng.choice(("", name, ":RELATION", f"{name}:RELATION"))
        names = relation.split("|")
        self.rng.shuffle(names)
        if is_path or self.rng.random() < 0.6:
            return self.rng.choice(("", name)) + ":" + self.rng.choice(("|", "|:")).join(names)
        listed = ", ".join(f"'{each}'" for each in names)
        ways = [f"type({name}) IN [{listed}]", f"{name}.relation IN [{listed}]",
                "(" + " OR ".join(f"type({name}) = '{each}'" for each in names) + ")"]  # fmt: skip
        conditions.append(self.rng.choice(ways))
        return name

    def _node(self, variable: str) -> str:
        label = self._labels.pop(variable, "") or self.rng.choice(("", ":Entity"))
        inside = self._inline.pop(variable, [])
        self.rng.shuffle(inside)
        return f"({self._names[variable]}{label}{' {' + ', '.join(inside) + '}' if inside else ''})"

    def _result(self) -> str:
        columns = [self._column(name) for name in self._names.values()]
        self.rng.shuffle(columns)
        if self.rng.random() < 0.2:
            columns = ["*"]
        text = f"RETURN {self.rng.choice(('', 'DISTINCT '))}{', '.join(columns)}"
        if self.rng.random() < 0.3:
            first = next(iter(self._names.values()))
            text += f" ORDER BY {first}.name{self.rng.choice(('', ' DESC', ' ASC'))}"
        text += self.rng.choice(("", "", " SKIP 1"))
        return text + self.rng.choice(("", "", " LIMIT 1", " LIMIT 25"))

    def _column(self, name: str) -> str:
        way = self.rng.choice(("{0}", "{0}.name", "{0}.name AS {0}_name", "count({0}) AS how_many", "labels({0})",
                               "collect(DISTINCT {0}.name) AS names", "{0}.type", "toUpper({0}.name) + '!' AS loud",
                               "coalesce({0}.name, 'none') AS answer", "{0} {{.name, .type}}",
                               "size({0}.aliases)"))  # fmt: skip
        return way.format(name)

    def _spaced(self, text: str) -> str:
        """Other blanks, line breaks and case of keywords, outside strings."""
        words = "MATCH|WHERE|RETURN|DISTINCT|ORDER|BY|SKIP|LIMIT|AND|OR|NOT|IN|CONTAINS|STARTS|WITH|AS|IS|NULL"
        parts = re.split(r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")", text)
        for at in range(0, len(parts), 2):
            blank = self.rng.choice((" ", " ", "  ", "\n", " \n\t"))
            if self.rng.random() < 0.4:
                parts[at] = re.sub(rf"\b({words})\b", lambda found: found[0].lower(), parts[at])
            parts[at] = re.sub(r" +", blank, parts[at])
        return "".join(parts)

    def _wrapped(self, text: str) -> str:
        return self.rng.choice((
            "{0}", "{0}", "{0};", "```cypher\n{0}\n```", "```\n{0}\n```", "Here is the query:\n\n{0}",
            "<think>They ask for it, so MATCH (n) DELETE n is wrong.</think>\n{0}",
            "I think aloud first.</think>```cypher\n{0}\n```\nThis finds what was asked for.",
            "{0}<|im_end|>", "<|im_start|>assistant\n{0}<|im_end|>\n", "{0}\n\nThis query finds the answer.",
            "```cypher\nMATCH (wrong)-->(q) RETURN q\n```\nOn second thought:\n```cypher\n{0}\n```", "cypher\n{0}",
            "Cypher: {0}", "```CYPHER {0}```",
        )).replace("{0}", text)  # fmt: skip

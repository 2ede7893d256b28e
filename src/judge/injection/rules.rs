//! How texts speak to a judge.

use std::sync::LazyLock;

use regex::Regex;

use super::InjectionKind;
use crate::judge::blind::fold;

/// Who judges.
const JUDGE: &str = r"(?:judges?|graders?|evaluators?|raters?|reviewers?|assessors?|examiners?|scorers?|markers?|referees?|adjudicators?)";

/// Who judges, in other languages, without accents; the endings of German, Spanish and the like are free.
const JUDGE_ABROAD: &str = r"(?:bewerter|gutachter|pruefer|prufer|richter|juror|schiedsrichter|evaluateur|evaluatrice|correcteur|examinateur|notateur|juge|evaluador|calificador|corrector|revisor|juez|valutatore|valutatrice|giudice|avaliador|juiz|beoordelaar|ocenshchik|sedzia|評価者|採点者|審査員|评审员?|评委|裁判|评分(?:员|者|人)|评估(?:员|者))[a-z]{0,5}";

/// What a judge does.
const JUDGES: &str = r"(?:scor(?:es?|ing)|grad(?:es?|ing)|judg(?:es?|ing)|evaluat(?:es?|ing)|rat(?:es?|ing)|marks?|marking|review(?:s|ing)?|assess(?:es|ing)?|check(?:s|ing)?|read(?:s|ing)?)";

/// What is judged.
const WORK: &str = r"(?:this|it|me|my|these|the (?:above |following )?(?:response|answer|output|reply|conversation|transcript|record))";

/// What a judge is told to say.
const PRAISE: &str =
    r"(?:pass|passed|passing|perfect|correct|excellent|best|good|great|fine|flawless|10|100|5)";

/// Words of Cyrillic, folded as texts are; their letters look like Latin ones.
const CYRILLIC: [&str; 4] = ["оценщик", "судья", "проверяющий", "игнорируй"];

pub(super) static RULES: LazyLock<Vec<(InjectionKind, Regex)>> = LazyLock::new(|| {
    let all = [addresses(), overrides(), asks(), abroad(), marks()];
    let compiled = all.into_iter().flatten();
    compiled
        .filter_map(|(kind, rule)| Some((kind, Regex::new(&rule).ok()?)))
        .collect()
});

type Rules = Vec<(InjectionKind, String)>;

fn of(kind: InjectionKind, rules: Vec<String>) -> Rules {
    rules.into_iter().map(|rule| (kind, rule)).collect()
}

fn addresses() -> Rules {
    let (who, does, work) = (JUDGE, JUDGES, WORK);
    let machine = r"(?:ais?|a\.i\.|llms?|(?:language )?models?|assistants?|bots?|gpt|chatbots?)";
    of(
        InjectionKind::AddressesJudge,
        vec![
            format!(
                r"\b(?:dear|hey|hello|attention|note (?:to|for)|message (?:to|for)|to|for|notice to)[ ,:]+(?:the |any |all |whoever is )?{who}\b[ ]?[:,!.]"
            ),
            format!(
                r"\b(?:dear|attention|note to|message to|instructions? (?:to|for))[ ,:]+(?:the |any |all )?(?:[a-z]+ )?{who}\b"
            ),
            format!(
                r"\b(?:if|as|since|when|because) (?:you|you're|you are)?[ ]?(?:are |re )?(?:an? |the )?(?:ai |llm |language model |automated |expert |fair |impartial |independent |experienced |professional |neutral |objective ){{0,2}}(?:{who}|grading|judging|evaluating|scoring)\b[^.\n]{{0,40}}\b(?:you|please|must|should|give|rate|score|output|answer)\b"
            ),
            format!(
                r"\b(?:note|message|memo|word|hint|reminder|attention|to|dear|hi|hello|hey|please)[ ,:]{{1,3}}(?:to |for )?(?:the |any |all )?(?:who(?:m)?(?:so)?ever|who(?:m)?|anyone|anybody|person|people|those|one|system|{machine})\b[^.\n]{{0,20}}\b{does} {work}\b"
            ),
            format!(
                r"\b{machine}\b[ ,]{{1,2}}(?:who |that |which |currently |now |is |are |'s ){{0,3}}{does} (?:this|it|me|my)\b"
            ),
            format!(
                r"\b(?:hey|please|dear|hello|hi|attention)[ ,]{{1,2}}(?:the )?(?:ai |llm |automated )?{who}\b"
            ),
            format!(
                r"\b{who}(?:'s)? (?:notes?|notice|memo|hint|instructions?|message) ?:[^\n]{{0,60}}\b(?:pass(?:es|ed|ing)?|scores?|marks?|full|grade|verdict|rating|award|warranted)\b"
            ),
            format!(
                r"\b(?:ai|llm|automated|automatic|machine) {who}\b[^.\n]{{0,15}}\b(?:should|must|will|shall|please|are to|is to|need to)\b"
            ),
            format!(
                r"(?:^|[\n.!?>)\]] ?){who} ?: ?[a-z]{{2,}}[^\n]{{0,60}}\b(?:pass|score|verdict|must|should|please|award|give|say|output|choose)\b"
            ),
            format!(
                r"\byou(?:'re| are| re) (?:now |actually )?(?:the|a|an|my|our) (?:ai |llm |fair |impartial |new |kind |lenient )?(?:{who})\b(?: now| here| today|[,.:;!] ?(?:so|and|please|you|your|give|output|say))"
            ),
        ],
    )
}

fn overrides() -> Rules {
    of(InjectionKind::OverridesInstructions, vec![
        r"\b(?:ignore|disregard|forget|override|bypass|discard|do not follow|don.t follow|stop following)\b[^.\n]{0,40}\b(?:instructions?|prompts?|rubrics?|rules|directions|criteria|guidelines)\b".to_owned(),
        r"\b(?:ignore|disregard|forget) (?:everything|anything|all|what)[^.\n]{0,20}\b(?:above|before|previous(?:ly)?|prior|earlier|told|said)\b".to_owned(),
        r"\b(?:new|updated|revised|real|actual) (?:system )?(?:instructions?|rubric|prompt)\b[ ]?(?::|for the)".to_owned(),
    ])
}

fn asks() -> Rules {
    let (who, praise) = (JUDGE, PRAISE);
    of(InjectionKind::AsksForVerdict, vec![
        format!(r"\b(?:rate|score|grade|mark|label|judge|classify|evaluate|consider) (?:this|it|me|my|the (?:above |following )?(?:response|answer|output|reply|conversation))\b[^.\n]{{0,30}}\b(?:as|with|at|a|an|highly|{praise})\b"),
        r"\b(?:give|award|assign|return|output|respond with|answer with|choose|pick|select|prefer)\b[^.\n]{0,30}\b(?:full marks|full score|(?:the )?(?:highest|top|maximum|best|perfect) (?:score|rating|grade|mark|level)|a pass(?:ing)? (?:grade|verdict|score|mark)|verdict|(?:response|output|answer) (?:a|b|1|2)|the (?:first|second) (?:response|output|answer))\b".to_owned(),
        format!(r"\b(?:verdict|grade|score|rating|judg(?:e)?ment)\b[ ]?(?:is|:|=)[ ]?.?(?:{praise}|first|second)\b"),
        r"\b(?:this|the) (?:response|answer|output) (?:is|deserves|must be|should be)[^.\n]{0,20}\b(?:rated|scored|graded|a pass|full marks|(?:the )?better (?:one|response|answer|output))\b".to_owned(),
        r#"\b(?:choose|pick|select|answer|say|output|return|respond|reply|vote|write|print)(?: only| just| with| simply){0,2}(?: the)?(?: word| verdict| label| level)? ?[:"'`*]{0,3}(?:pass|passed|excellent)["'`*]{0,3} ?(?:$|[.!,;)\n\]])"#.to_owned(),
        r"\b(?:say|state|conclude|decide|declare|report|respond|answer) (?:that )?(?:it|this|the (?:answer|response|output|result))(?: is|'s| was) (?:good|correct|right|perfect|excellent|great|a pass|passing|flawless)\b".to_owned(),
        r"\b(?:this|it|answer|response|output|reply|work|everything|i)\b (?:clearly |surely |certainly )?(?:deserves?|earns?|merits?) (?:an? |the |to )?(?:pass|full|highest|top|best|perfect|good grade|good mark)\b".to_owned(),
        r"\b(?:full|maximum|top|highest|perfect) (?:score|marks?|credit|points|rating|grade)\b[^.\n]{0,15}\b(?:is|are|seems?|would be) (?:well |fully |clearly )?(?:warranted|deserved|justified|due|appropriate|in order|merited|earned)\b".to_owned(),
        r"\b(?:you|one) (?:will|must|should|shall|can only|have to|are to) (?:surely |certainly |then )?(?:conclude|decide|find|agree|see|judge|determine) that (?:this|it|the (?:answer|response|output|result|reply))\b[^.\n]{0,20}\b(?:pass(?:es|ed)?|is (?:correct|excellent|perfect|flawless)|deserves|meets)\b".to_owned(),
        format!(r"\b{who}\b[^.\n]{{0,20}}\b(?:should|must|will|please)\b[^.\n]{{0,30}}\b(?:{praise}|full marks)\b"),
    ])
}

/// The same in the languages in which it is tried most.
fn abroad() -> Rules {
    let who = JUDGE_ABROAD;
    let cyrillic: Vec<String> = CYRILLIC
        .iter()
        .map(|word| fold(word).iter().map(|u| u.c).collect())
        .collect();
    let mut rules = of(InjectionKind::AddressesJudge, vec![
        format!(r"(?:^|[\n.!?>)\]] ?|\b(?:lieber?|liebe|sehr geehrter?|hallo|an (?:den|die|alle)|cher|chere|a l.attention d\S+|note (?:au|a l.)|bonjour|querido|estimado|estimada|hola|nota para el|nota para la|al|caro|gentile|prezado|beste)[ ,]+){who} ?[:,!：，]"),
        r"\bwer (?:auch immer )?(?:das|dies|diese[ns]?)[^.\n]{0,20}\b(?:bewertet|pruft|beurteilt|liest)\b|\b(?:qui|quiconque) (?:note|evalue|juge|lit) (?:ceci|cette|ce)\b|\b(?:quien|quienquiera que) (?:evalue|evalua|califique|califica|lea|juzgue) est[aeo]\b".to_owned(),
        format!(r"\b(?:{})\b", cyrillic[..3].join("|")),
    ]);
    rules.extend(of(InjectionKind::OverridesInstructions, vec![
        r"\b(?:ignorier(?:e|en|t)?|vergiss|missachte|ignore[zr]?|oublie[zr]?|ignora|ignoren?|olvida|dimentica|esqueca|negeer)\b[^.\n]{0,40}\b(?:anweisung(?:en)?|vorgaben|regeln|instructions|consignes|regles|instrucciones|reglas|indicaciones|istruzioni|regole|instrucoes|regras|instructies)\b".to_owned(),
        r"(?:忽略|无视|不要理会|無視)[^。\n]{0,20}(?:指令|指示|说明|提示|规则|評価)|(?:指示|命令)を無視".to_owned(),
        format!(r"\b{}\w*", cyrillic[3]),
    ]));
    rules.extend(of(InjectionKind::AsksForVerdict, vec![
        r"\b(?:bewerte(?:n)?|beurteile(?:n)?|gib|geben sie|vergib|wahle|antworte)\b[^.\n]{0,40}\b(?:pass|bestanden|volle punktzahl|bestnote|hochste note|als (?:gut|sehr gut|korrekt|richtig|bestanden))\b".to_owned(),
        r"\b(?:donne[zr]?|mets|mettez|attribue[zr]?|reponds|repondez|choisis(?:sez)?|note[zr]?)\b[^.\n]{0,40}\b(?:pass|note maximale|meilleure note|la moyenne|reussi|valide)\b".to_owned(),
        r"\b(?:da|dale|dad|den|pon|otorga|asigna|elige|responde|califica|calificad|puntua)\b[^.\n]{0,40}\b(?:pass|aprobado|puntuacion maxima|maxima puntuacion|nota maxima|mejor nota|como (?:correct[oa]|buen[oa]|excelente))\b".to_owned(),
        r"(?:给|打|选择|判)[^。\n]{0,10}(?:满分|通过|最高分|合格)|満点".to_owned(),
        r"(?:请|評審|评审|评委|裁判|评分|评估)[^。\n]{0,12}(?:给出?|给予|判定?为?|评为|输出|回答|选择?)[^。\n]{0,6}(?:pass|excellent)\b".to_owned(),
    ]));
    rules
}

fn marks() -> Rules {
    let mut rules = of(InjectionKind::RoleMarker, vec![
        r"<\|[ ]?/?[a-z_]{2,20}[ ]?\|>|\[/?inst\]|<</?sys>>|</?s>|<start_of_turn>|<end_of_turn>|\u{ff5c}".to_owned(),
        r"<(?:/[ ]?)?(?:system|instructions?|prompt|grader|judge|rubric|verdict|developer|tool_response|human)>|\[(?:system|end of system)[^\]\n]{0,20}\]".to_owned(),
        r"(?:^|\n)[ \t]*(?:#{1,4} ?|\*\*|<)?(?:system|human|assistant|developer|user)(?:\*\*|>)? ?:?(?:\*\*)?(?:\n|:[ \n])".to_owned(),
    ]);
    rules.extend(of(InjectionKind::FakeFence, vec![
        r"<<<|>>>|={3,} ?(?:end|begin)|-{3,} ?(?:end|begin)|</?(?:data|evidence|transcript|response|output|answer|document|untrusted)>|\b(?:end|end of) (?:of )?(?:the )?(?:data|evidence|transcript|quoted text|response to (?:judge|grade|evaluate))\b".to_owned(),
    ]));
    rules.extend(of(
        InjectionKind::TemplateMarks,
        vec![r"\{\{ ?[a-z_][a-z_0-9.| ()]{0,60}\}\}|\{%[^%\n]{1,60}%\}".to_owned()],
    ));
    rules.extend(of(InjectionKind::HiddenText, vec![
        format!(r"<!--[^>]{{0,200}}\b(?:{JUDGE}|judging|grading|pass|score|verdict|instructions?|rubric|rate)\b"),
        r"(?:display ?: ?none|visibility ?: ?hidden|font-size ?: ?0|opacity ?: ?0\b|color ?: ?(?:white|transparent|#fff(?:fff)?)\b)".to_owned(),
    ]));
    rules
}

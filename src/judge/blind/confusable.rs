//! Letters that look like Latin ones.
//!
//! A selection of Unicode's `confusables.txt` (UTS 39): the scripts in which Latin words are commonly
//! disguised. Compatibility forms (full-width, mathematical, circled letters) and accents are taken off
//! by NFKD before this table is asked.

/// Letters by what they look like, one string per Latin letter.
const LOOKALIKES: [(char, &str); 26] = [
    ('a', "ɐаɑαᴀΑꭺᎪ"),
    ('b', "ВвЬьβΒʙᏴɓᏼ"),
    ('c', "ɔсСᴄϲᏟꮯ"),
    ('d', "ԁᴅɗᎠđꭰ"),
    ('e', "ǝеЕҽєΕεᴇᎬꭼ"),
    ('f', "ɟƒϝꜰꞙ"),
    ('g', "ƃɡցԍԌɢᏀɠꮐ"),
    ('h', "ɥһҺнНհΗʜᎻħꮋ"),
    ('i', "ᴉіІıΙιɩɪӏӀᎥℹꙇ"),
    ('j', "ɾјЈϳᴊᎫ"),
    ('k', "ʞкКκΚᴋᏦƙ"),
    ('l', "ʟłⅼᏞ∣ꮮ"),
    ('m', "ʍмМΜᴍᎷꮇ"),
    ('n', "ոΝηɴпꞑ"),
    ('o', "оОοΟσօᴏøօ०"),
    ('p', "рРρΡᴘᏢƥꮲ"),
    ('q', "ԛգզꞯ"),
    ('r', "ɹгᴦʀꭱᎡ"),
    ('s', "ѕЅꜱʂᏚꮪ"),
    ('t', "ʇтТτΤᴛᎢŧƭꭲ"),
    ('u', "υսμʋᴜꞟ"),
    ('v', "ʌνѵѴᴠᏙ"),
    ('w', "ԝԜωɯᴡᎳ"),
    ('x', "хХχΧ×"),
    ('y', "ʎуУүγΥʏ"),
    ('z', "ᴢΖᏃʐ"),
];

/// The Latin letter that a letter looks like, in lower case, and the hyphen for every dash; other
/// characters stay as they are.
pub(super) fn skeleton(letter: char) -> char {
    if letter.is_ascii() {
        return letter.to_ascii_lowercase();
    }
    if matches!(letter, '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{2043}') {
        return '-';
    }
    if let Some(latin) = boxed(letter).or_else(|| braille(letter)) {
        return latin;
    }
    let small = match letter.to_lowercase().next() {
        Some('ς') => 'σ',
        Some(small) => small,
        None => letter,
    };
    lookalike(letter).or(lookalike(small)).unwrap_or(small)
}

fn lookalike(letter: char) -> Option<char> {
    let found = LOOKALIKES.iter().find(|(_, like)| like.contains(letter));
    found.map(|(latin, _)| *latin)
}

/// The letters that one letter is written with elsewhere, after full case folding: `ss` for `ß`.
pub(super) fn spelt_out(letter: char) -> Option<&'static str> {
    match letter {
        'ß' | 'ẞ' => Some("ss"),
        'æ' | 'Æ' | 'ᴁ' => Some("ae"),
        'œ' | 'Œ' => Some("oe"),
        'þ' | 'Þ' => Some("th"),
        'ð' | 'Ð' => Some("d"),
        _ => None,
    }
}

/// Letters of Braille.
fn braille(letter: char) -> Option<char> {
    const LETTERS: &str = "⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵";
    let at = LETTERS.chars().position(|c| c == letter)?;
    char::from_digit(u32::try_from(at).ok()? + 10, 36)
}

/// Letters in boxes and flags, and the invisible letters of tags, which models read and people do not.
fn boxed(letter: char) -> Option<char> {
    let code = letter as u32;
    let first = [0x1F150, 0x1F170, 0x1F1E6]
        .into_iter()
        .find(|first| (*first..*first + 26).contains(&code));
    if let Some(first) = first {
        return char::from_u32('a' as u32 + code - first);
    }
    (0xE0020..=0xE007E)
        .contains(&code)
        .then(|| char::from_u32(code - 0xE0000))
        .flatten()
        .map(|c| c.to_ascii_lowercase())
}

/// Characters that are not seen: zero-width ones, marks on other letters, controls of direction.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c as u32,
        0xAD | 0x34F | 0x61C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x3164 | 0xFEFF | 0xFFA0
        | 0x180B..=0x180F | 0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x206F
        | 0xFE00..=0xFE0F | 0xE0001 | 0xE007F | 0xE0100..=0xE01EF
        | 0x300..=0x36F | 0x483..=0x489 | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF
        | 0x20D0..=0x20FF | 0xFE20..=0xFE2F | 0x3099 | 0x309A
        // Vowel signs of Hebrew and Arabic, and the stroke that only widens an Arabic word.
        | 0x591..=0x5BD | 0x5BF | 0x5C1 | 0x5C2 | 0x5C4 | 0x5C5 | 0x5C7
        | 0x610..=0x61A | 0x640 | 0x64B..=0x65F | 0x670)
}

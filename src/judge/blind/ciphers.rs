//! Simple ways to write a word so that people have to turn it around, and a judge's model does not.

/// A name written another way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cipher {
    /// Its letters.
    pub letters: Vec<char>,
    /// Whether a separator may stand before each letter, as in the name.
    pub own_gap: Vec<bool>,
}

/// A name from its end, upside down, by rot13, in the mirrored alphabet, and in Pig Latin.
pub(super) fn ciphers(letters: &[char], own_gap: &[bool]) -> Vec<Cipher> {
    let each = |f: fn(char) -> char| letters.iter().map(|c| f(*c)).collect();
    let same = |letters| Cipher {
        letters,
        own_gap: own_gap.to_vec(),
    };
    let backward = |letters: Vec<char>| Cipher {
        letters: letters.into_iter().rev().collect(),
        own_gap: reversed_gaps(own_gap),
    };
    let mut all = vec![
        backward(letters.to_vec()),
        backward(each(turned)),
        same(rotated(letters, 13)),
        same(each(mirrored)),
    ];
    all.extend(pig_latin(letters));
    all
}

/// The gap before a letter is, from the end, the gap before the letter that precedes it.
fn reversed_gaps(own_gap: &[bool]) -> Vec<bool> {
    let mut gaps: Vec<bool> = own_gap.iter().skip(1).rev().copied().collect();
    gaps.insert(0, false);
    gaps
}

fn shifted(c: char, by: impl Fn(u8) -> u8) -> char {
    match c {
        'a'..='z' => char::from(b'a' + by(c as u8 - b'a') % 26),
        other => other,
    }
}

fn rotated(letters: &[char], by: u8) -> Vec<char> {
    letters.iter().map(|c| shifted(*c, |at| at + by)).collect()
}

/// A name by every other shift of the alphabet.
pub(super) fn shifts(letters: &[char], own_gap: &[bool]) -> Vec<Cipher> {
    let by = (1..26).filter(|by| *by != 13);
    let cipher = |by| Cipher {
        letters: rotated(letters, by),
        own_gap: own_gap.to_vec(),
    };
    by.map(cipher).collect()
}

fn mirrored(c: char) -> char {
    shifted(c, |at| 25 - at)
}

/// What a letter on its head is taken for.
fn turned(c: char) -> char {
    match c {
        'b' => 'q',
        'q' => 'b',
        'd' => 'p',
        'p' => 'd',
        'n' => 'u',
        'u' => 'n',
        'm' => 'w',
        'w' => 'm',
        other => other,
    }
}

/// `uokkatronqay`: the consonants before the first vowel go to the end, and `ay` after them.
fn pig_latin(letters: &[char]) -> Option<Cipher> {
    let vowel = letters
        .iter()
        .position(|c| matches!(c, 'a' | 'e' | 'i' | 'o' | 'u'))?;
    let (head, rest) = letters.split_at(vowel);
    let letters: Vec<char> = rest.iter().chain(head).copied().chain(['a', 'y']).collect();
    let own_gap = vec![false; letters.len()];
    (!head.is_empty()).then_some(Cipher { letters, own_gap })
}

/// A name with each letter twice, and three times: `zzeedd`.
pub(super) fn multiplied(letters: &[char]) -> impl Iterator<Item = Cipher> {
    let lettered = letters.len() > 2 && letters.iter().all(|c| c.is_alphabetic());
    let times = |by: usize| {
        let each = letters.iter().flat_map(|c| std::iter::repeat_n(*c, by));
        Cipher {
            letters: each.collect(),
            own_gap: vec![false; by * letters.len()],
        }
    };
    let by = [2, 3].into_iter().filter(move |_| lettered);
    by.map(times)
}

/// A name without its vowels, where enough is left to tell it: `qkktrn`.
pub(super) fn without_vowels(letters: &[char], own_gap: &[bool]) -> Option<Cipher> {
    const FEWEST: usize = 5;
    let mut cipher = Cipher {
        letters: vec![],
        own_gap: vec![],
    };
    let mut gap = false;
    for (&c, &own) in letters.iter().zip(own_gap) {
        gap |= own;
        if !matches!(c, 'a' | 'e' | 'i' | 'o' | 'u') {
            cipher.own_gap.push(gap && !cipher.letters.is_empty());
            cipher.letters.push(c);
            gap = false;
        }
    }
    let lettered = cipher.letters.iter().all(char::is_ascii_alphabetic);
    let told = lettered && (FEWEST..letters.len()).contains(&cipher.letters.len());
    told.then_some(cipher)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_turned_around() {
        let letters: Vec<char> = "quadron".chars().collect();
        let mut gaps = vec![false; 7];
        gaps[4] = true;
        let all = ciphers(&letters, &gaps);
        let texts: Vec<String> = all.iter().map(|c| c.letters.iter().collect()).collect();
        assert_eq!(
            texts,
            ["nordauq", "uorpanb", "dhnqeba", "jfzwilm", "uadronqay"]
        );
        let third = &shifts(&letters, &gaps)[2];
        assert_eq!(third.letters.iter().collect::<String>(), "txdgurq");
        assert_eq!(without_vowels(&letters, &gaps), None);
        let long: Vec<char> = "quokkatron".chars().collect();
        let bare = without_vowels(&long, &[false; 10]).unwrap();
        assert_eq!(bare.letters.iter().collect::<String>(), "qkktrn");
        let twice = multiplied(&['z', 'e', 'd']).next().unwrap();
        assert_eq!(twice.letters.iter().collect::<String>(), "zzeedd");
        assert_eq!(all[0].own_gap.iter().position(|g| *g), Some(3));
    }
}

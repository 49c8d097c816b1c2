import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MillraceError } from './errors.ts';
import {
  attemptOf,
  countingIds,
  executionId,
  type Ids,
  isId,
  isPartId,
  itemId,
  partId,
  randomIds,
  runId,
  sessionId,
  toolCallId,
} from './ids.ts';

const makers = { sessionId, runId, itemId, toolCallId, executionId };
const units = fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)) });
const texts = fc.oneof(units, fc.string({ unit: 'binary' }), fc.string());

const isControl = (code: number) => code <= 0x1f || code === 0x7f;

describe('an id', () => {
  test('is any text without control characters and lone surrogates', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const codes = Array.from(text, (char) => char.codePointAt(0) ?? 0);
        const isLone = (code: number) => code >= 0xd800 && code <= 0xdfff;
        const fits = codes.length > 0 && !codes.some((code) => isControl(code) || isLone(code));
        expect(isId(text)).toBe(fits);
      }),
    );
  });

  test('refuses every control character that the protocol names, and no other', () => {
    const refused = Array.from({ length: 0x100 }, (_, code) => code).filter(
      (code) => !isId(`a${String.fromCharCode(code)}b`),
    );
    expect(refused).toEqual([...Array(0x20).keys(), 0x7f]);
  });

  test('has 1 to 1024 UTF-16 units', () => {
    expect(['', 'a', 'a'.repeat(1024), 'a'.repeat(1025)].map(isId)).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect(['😀'.repeat(512), `a${'😀'.repeat(512)}`].map(isId)).toEqual([true, false]);
  });

  test.each(Object.entries(makers))(
    '%s gives a good text back and throws at any other',
    (_, make) => {
      expect(make('__proto__')).toBe('__proto__');
      for (const bad of ['', 'a\nb', '\ud83d', 'a'.repeat(1025)]) {
        expect(() => make(bad)).toThrow(MillraceError);
        expect(() => make(bad)).toThrow(expect.objectContaining({ code: 'bad_id' }));
      }
    },
  );

  test('that is refused is quoted in one short line, whatever is in it', () => {
    for (const bad of ['a\nb', `${'\ud83d'.repeat(2000)}`]) {
      expect(() => itemId(bad)).toThrow(
        /^Cannot use a text of \d+ characters as an item id: [ -~]+$/,
      );
    }
  });
});

describe('a part id', () => {
  test('names its turn, its attempt and itself', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.maxSafeNat(), texts.filter(isId), (turn, attempt, name) => {
        const id = partId(turn, attempt, name);
        expect(id).toBe(`${turn}.${attempt}.${name}`);
        expect(attemptOf(id)).toEqual({ turn, attempt });
        expect(isPartId(id)).toBe(true);
      }),
    );
  });

  test('may have dots and line separators in its name', () => {
    for (const name of ['a.b', '.', '1.2', '\u2028', 'a\u2029b', '😀', ' ']) {
      expect(attemptOf(partId(3, 4, name))).toEqual({ turn: 3, attempt: 4 });
    }
  });

  test.each([
    '',
    'a',
    '1.1',
    '1.1.',
    '1..a',
    '.1.a',
    '01.1.a',
    '1.00.a',
    '-1.1.a',
    '+1.1.a',
    '1e3.1.a',
    ' 1.1.a',
    '1.1 .a',
    '1.٣.a',
    '1.1.a\n',
    '1.1.\ud83d',
    '9007199254740992.1.a',
    `1.${'9'.repeat(400)}.a`,
    `1.1.${'a'.repeat(1021)}`,
  ])('is not %j', (text) => {
    expect(isPartId(text)).toBe(false);
  });

  test('is made of whole numbers from 0 on only, since others would name another attempt', () => {
    for (const bad of [1.5, -1, NaN, Infinity, 1e21, 2 ** 53]) {
      expect(() => partId(bad, 1, 'a')).toThrow(expect.objectContaining({ code: 'bad_id' }));
      expect(() => partId(1, bad, 'a')).toThrow(expect.objectContaining({ code: 'bad_id' }));
    }
    expect(() => partId(1, 1, '')).toThrow('turn.attempt.name');
  });
});

const oneOfEach = (ids: Ids) => [
  ids.session(),
  ids.run(),
  ids.item(),
  ids.part(2, 1),
  ids.toolCall(),
  ids.execution(),
];

describe('counted ids', () => {
  test('are the same each time, and count each kind for itself', () => {
    const ids = countingIds();
    const first = oneOfEach(ids);
    expect(first).toEqual(['session1', 'run1', 'item1', '2.1.p1', 'call1', 'execution1']);
    expect(oneOfEach(ids)).toEqual(first.map((id) => id.replace(/1$/, '2')));
    expect(oneOfEach(countingIds())).toEqual(first);
  });

  test('of parts are not used again in another attempt', () => {
    const ids = countingIds();
    expect([ids.part(1, 1), ids.part(1, 2), ids.part(2, 1)]).toEqual([
      '1.1.p1',
      '1.2.p2',
      '2.1.p3',
    ]);
  });
});

/** A linear congruential generator: random enough to tell a mistake, and the same each time. */
function seeded(seed: number) {
  let state = seed;
  return (bytes: Uint8Array<ArrayBuffer>) => {
    for (const index of bytes.keys()) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
      bytes[index] = state >> 16;
    }
    return bytes;
  };
}

describe('random ids', () => {
  test('are those that their source says', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const ids = randomIds(seeded(seed));
        const again = randomIds(seeded(seed));
        const all = [...oneOfEach(ids), ...oneOfEach(ids)];
        expect(all).toEqual([...oneOfEach(again), ...oneOfEach(again)]);
        expect(new Set(all).size).toBe(all.length);
      }),
    );
  });

  test('have five bits a digit, and as many digits as they need to be unique', () => {
    const ids = randomIds(seeded(1));
    const digits = [24, 24, 16, 10, 16, 16];
    for (const [index, id] of oneOfEach(ids).entries()) {
      const random = index === 3 ? id.replace(/^2\.1\./, '') : id;
      expect(random).toMatch(new RegExp(`^[0-9a-hjkmnp-tv-z]{${digits[index]}}$`));
    }
  });

  test('use every digit, and nothing of a byte but its last five bits', () => {
    let next = 0;
    const ids = randomIds((bytes) => bytes.map(() => next++));
    const digits = '0123456789abcdefghjkmnpqrstvwxyz';
    const all = Array.from({ length: 16 }, () => ids.item()).join('');
    expect(all).toBe(digits.repeat(8));
  });

  test('may come from the platform', () => {
    const ids = randomIds((bytes) => crypto.getRandomValues(bytes));
    expect(ids.session()).not.toBe(ids.session());
  });
});

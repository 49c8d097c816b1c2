import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeDraft, encodeDraft } from '../codec/codec.ts';
import { runId } from '../ids.ts';
import {
  formatTraceparent,
  isSampled,
  isTracestate,
  parseTraceparent,
  type TraceContext,
  traceContext,
  underSpan,
} from './trace-context.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const given = `00-${traceId}-${spanId}-01`;

const hex = (digits: number) =>
  fc
    .string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: digits, maxLength: digits })
    .filter((text) => !/^0+$/.test(text));
const parents = fc.record({ traceId: hex(32), spanId: hex(16), flags: fc.nat(3) });

test('parseTraceparent reads what formatTraceparent writes', () => {
  fc.assert(
    fc.property(parents, (parent) => {
      expect(parseTraceparent(formatTraceparent(parent))).toEqual(parent);
    }),
  );
});

test('parseTraceparent takes nothing that has one character more, less, or other than hexadecimal', () => {
  fc.assert(
    fc.property(
      parents,
      fc.nat(54),
      fc.constantFrom('', 'g', 'A', '00', '-', ' '),
      (parent, at, put) => {
        const text = formatTraceparent(parent);
        fc.pre(text.charAt(at) !== put);
        const changed = text.slice(0, at) + put + text.slice(at + 1);
        expect(parseTraceparent(changed)).toBeUndefined();
      },
    ),
  );
});

test('parseTraceparent is total', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(parseTraceparent(text)).toBeUndefined();
    }),
  );
});

describe('parseTraceparent', () => {
  test.each([
    ['version ff', `ff-${traceId}-${spanId}-01`],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['a span id of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['capitals', given.toUpperCase()],
    ['more than version 00 says', `${given}-what`],
    ['a later version that goes on without a hyphen', `cc-${traceId}-${spanId}-01what`],
    ['two headers in one', `${given}, ${given}`],
    ['a line break behind it', `${given}\n`],
    ['nothing', ''],
    ['a flood', `01-${traceId}-${spanId}-01-${'x'.repeat(10_000)}`],
  ])('refuses %s', (_what, text) => {
    expect(parseTraceparent(text)).toBeUndefined();
  });

  test('reads of a later version what it has in common with ours', () => {
    const parent = { traceId, spanId, flags: 0xff };
    expect(parseTraceparent(`cc-${traceId}-${spanId}-ff-more`)).toEqual(parent);
    expect(traceContext(`cc-${traceId}-${spanId}-ff-more`)).toEqual({
      traceparent: `00-${traceId}-${spanId}-03`,
    });
  });
});

describe('traceContext', () => {
  test('keeps a sound tracestate and leaves a bad one out alone', () => {
    const tracestate = 'rojo=00f067aa0ba902b7,t@congo=lZWRzIHRoNhcm5hbCBwbGVhc3VyZS4=';
    expect(traceContext(given, 'a=b,')).toEqual({ traceparent: given, tracestate: 'a=b,' });
    expect(traceContext(given, 'rojo=1,congo=2')).toEqual({
      ...{ traceparent: given, tracestate: 'rojo=1,congo=2' },
    });
    // A value has no equals sign.
    expect(traceContext(given, tracestate)).toEqual({ traceparent: given });
  });

  test.each([[undefined], [null], [7], [['a']], ['00']])('is undefined for %j', (value) => {
    expect(traceContext(value, 'a=b')).toBeUndefined();
  });
});

describe('isTracestate', () => {
  test.each([
    '',
    ',',
    'a',
    '=b',
    'A=b',
    'a=',
    'a=b,a=c',
    'a=é',
    'a=b\nc=d',
    `a=${'x'.repeat(600)}`,
  ])('refuses %j', (text) => {
    expect(isTracestate(text)).toBe(false);
  });

  test('refuses more than 32 members', () => {
    const of = (count: number) => Array.from({ length: count }, (_, at) => `k${at}=v`).join(',');
    expect([isTracestate(of(32)), isTracestate(of(33))]).toEqual([true, false]);
  });

  test('what it takes can be sent as a header', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), (text) => {
        fc.pre(isTracestate(`a=1,${text}`));
        expect(new Headers({ tracestate: `a=1,${text}` }).get('tracestate')).not.toBeNull();
      }),
    );
  });
});

test('underSpan keeps the trace, its flags and its state, and changes the span', () => {
  fc.assert(
    fc.property(parents, hex(16), (parent, other) => {
      const trace: TraceContext = { traceparent: formatTraceparent(parent), tracestate: 'a=b' };
      const moved = underSpan(trace, other);
      expect(parseTraceparent(moved.traceparent)).toEqual({ ...parent, spanId: other });
      expect(moved.tracestate).toBe('a=b');
    }),
  );
  expect(() => underSpan({ traceparent: given }, 'short')).toThrow(RangeError);
  expect(() => underSpan({ traceparent: 'none' }, spanId)).toThrow(RangeError);
});

test('isSampled reads the lowest flag', () => {
  expect([0, 1, 2, 3].map((flags) => isSampled({ flags }))).toEqual([false, true, false, true]);
});

test('a run on the log keeps its trace, and a bad one is refused', () => {
  const draft = (trace: TraceContext) =>
    ({ turn: 0, attempt: 0, fact: { type: 'run_started', runId: runId('r'), trace } }) as const;
  const kept = draft({ traceparent: given, tracestate: 'a=b' });
  expect(decodeDraft(encodeDraft(kept))).toEqual(kept);
  const bad = JSON.stringify(draft({ traceparent: 'nonsense' }));
  expect(() => decodeDraft(bad)).toThrow(expect.objectContaining({ code: 'bad_value' }));
});

import { describe, expect, test } from 'vitest';
import type { ContentLimits } from '../limits.ts';
import { decodeBatch, decodeRecord, decodeTranscript } from './codec.ts';
import { DecodeError } from './decoder.ts';

const head = { v: 1, offset: 7, time: 1_763_200_000_020, turn: 1, attempt: 1, producer: 'model' };
const ids = { partId: '1.1.a', itemId: 'i1' };
const call = { toolCallId: 'call_1', name: 'read' };
const stop = { reason: 'stop', raw: 'end_turn', cause: 'limit' };
const usage = {
  input: 1,
  output: 2,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: 0,
  estimated: false,
  costs: [{ amount: '0.25', currency: 'USD' }],
};
const text = {
  kind: 'text',
  text: 'a',
  metadata: { n: 1 },
  providerState: { provider: 'p', model: 'm', data: 1 },
};
const media = { kind: 'media', mimeType: 'image/png', source: { type: 'bytes', bytes: 'AQ==' } };
const file = { ...media, kind: 'file', name: 'f', source: { type: 'blob', hash: 'h', length: 1 } };
const result = { kind: 'tool_result', ...call, text: '', isError: false, attachments: [file] };
const settled = [text, media, result].map((part) => ({ partId: '1.1.a', part }));

const delta = (type: string, fields: object) => ({
  ...head,
  delta: { type, partId: '1.1.a', ...fields },
});
const fact = (type: string, fields: object) => ({ ...head, fact: { type, ...fields } });

// Good documents, for the tables below to break in one place each.
const append = delta('append_text', { at: 0, chunk: 'a' });
const appendBytes = delta('append_bytes', { at: 0, chunk: 'AQ==' });
const begin = delta('begin_part', { ...ids, kind: 'reasoning', form: 'full' });
const beginResult = delta('begin_part', { ...ids, kind: 'tool_result', ...call, executionId: 'x' });
const commit = delta('commit_part', { length: 1, providerState: text.providerState });
const whole = delta('commit_part', { ...ids, part: media });
const replace = delta('replace_structured', { value: { a: 1 } });
const annotate = delta('set_metadata', { metadata: { a: 1 } });
const snapshot = fact('snapshot', { covers: [1, 7], items: [{ itemId: 'i1', parts: settled }] });
const started = fact('item_started', { itemId: 'i1', kind: 'user', author: { name: 'Ada' } });
const finished = fact('response_finished', {
  itemId: 'i1',
  stop,
  usage,
  details: { safety: [{ about: 'input', category: 'hate' }], timings: { totalMs: 1 } },
});
const rejected = fact('tool_call_rejected', { ...call, code: 'cut', message: 'm' });
const executed = fact('tool_execution_finished', {
  ...call,
  executionId: 'x',
  isError: false,
  outcome: 'lost',
});
const queued = fact('command_queued', { key: 'k', command: { say: 'hi' } });
const compacted = fact('compacted', { itemIds: ['i1', 'i2'] });
const retry = fact('retry_scheduled', { error: { code: 'c', message: 'm' }, delayMs: 5 });
const batch = { after: 0, through: 7, records: [append, snapshot] };
const item = { id: 'i1', kind: 'assistant', parts: [text, media], stop };
const items = { v: 1, items: [item] };

type Node = Record<string | number, unknown>;

/** The document with another value at the path; undefined takes the field away. */
function broken(document: object, path: string, value: unknown): string {
  const copy: Node = structuredClone(document) as Node;
  const steps = path.match(/[^$.[\]]+/g) ?? [];
  const last = steps.pop() ?? '';
  const parent = steps.reduce((node, step) => node[step] as Node, copy);
  parent[last] = value;
  return JSON.stringify(copy);
}

/** The decoder that a document is for, told by its fields. */
function decode(document: object, text: string, limits?: Partial<ContentLimits>): unknown {
  if ('records' in document) return decodeBatch(text, limits);
  return 'items' in document ? decodeTranscript(text, limits) : decodeRecord(text, limits);
}

function refusalOf(read: () => unknown): DecodeError {
  try {
    read();
  } catch (error) {
    if (error instanceof DecodeError) return error;
    throw error;
  }
  throw new Error('it was decoded');
}

const secret = 'sk-do-not-tell';
const secrets = { [secret]: [secret] };

test.each(
  Object.entries({
    append,
    appendBytes,
    begin,
    beginResult,
    commit,
    whole,
    replace,
    annotate,
    snapshot,
    started,
    finished,
    rejected,
    executed,
    queued,
    compacted,
    retry,
    batch,
    items,
  }),
)('the document that is broken below is good: %s', (_name, document) => {
  expect(() => decode(document, JSON.stringify(document))).not.toThrow();
});

describe('a document with a bad field names the path to it, and never what was in it', () => {
  test.each<[path: string, value: unknown, document: object]>([
    ['$.v', secret, append],
    ['$.v', 0, append],
    ['$.v', '1', append],
    ['$.v', null, append],
    ['$.v', undefined, append],
    ['$.v', 0.5, items],
    ['$.offset', secret, append],
    ['$.offset', 0, append],
    ['$.offset', -1, append],
    ['$.offset', 1.5, append],
    ['$.offset', 2 ** 53, append],
    ['$.offset', undefined, append],
    ['$.time', secrets, append],
    ['$.time', -1, append],
    ['$.turn', null, append],
    ['$.attempt', true, append],
    ['$.producer', [secret], append],
    ['$.delta', secret, append],
    ['$.delta', [secret], append],
    ['$.delta', null, append],
    ['$.delta', undefined, append],
    ['$.delta.type', 7, append],
    ['$.delta.type', undefined, append],
    ['$.delta.partId', secret, append],
    ['$.delta.partId', `01.1.${secret}`, append],
    ['$.delta.partId', '1.1.', append],
    ['$.delta.at', secret, append],
    ['$.delta.at', -1, append],
    ['$.delta.at', 0.5, append],
    ['$.delta.chunk', secrets, append],
    ['$.delta.chunk', null, append],
    ['$.delta.chunk', secret, appendBytes],
    ['$.delta.chunk', 7, appendBytes],
    ['$.delta.kind', secret, begin],
    ['$.delta.kind', '__proto__', begin],
    ['$.delta.kind', 'constructor', begin],
    ['$.delta.form', secret, begin],
    ['$.delta.itemId', `a\n${secret}`, begin],
    ['$.delta.executionId', null, beginResult],
    ['$.delta.toolCallId', '', beginResult],
    ['$.delta.length', undefined, commit],
    ['$.delta.partial', false, commit],
    ['$.delta.signature', null, commit],
    ['$.delta.providerState', null, commit],
    ['$.delta.providerState.model', 7, commit],
    ['$.delta.providerState.data', undefined, commit],
    ['$.delta.part', null, whole],
    ['$.delta.part.kind', secret, whole],
    ['$.delta.part.source', secret, whole],
    ['$.delta.part.source.type', 'toString', whole],
    ['$.delta.part.source.bytes', secret, whole],
    ['$.delta.part.metadata', [secret], whole],
    ['$.delta.value', undefined, replace],
    ['$.delta.metadata', secret, annotate],
    ['$.fact', null, started],
    ['$.fact.type', null, started],
    ['$.fact.kind', secret, started],
    ['$.fact.author', secret, started],
    ['$.fact.author.name', null, started],
    ['$.fact.author.id', null, started],
    ['$.fact.stop.reason', secret, finished],
    ['$.fact.stop.raw', null, finished],
    ['$.fact.usage.input', 1.5, finished],
    ['$.fact.usage.estimated', 'no', finished],
    ['$.fact.usage.costs', secrets, finished],
    ['$.fact.usage.costs[0].amount', 0.25, finished],
    ['$.fact.usage.costs[0].amount', '1e3', finished],
    ['$.fact.usage.costs[0].currency', null, finished],
    ['$.fact.usage.cacheWriteLong', -1, finished],
    ['$.fact.usage.billed', secrets, finished],
    ['$.fact.usage.billed', { searches: 1.5 }, finished],
    ['$.fact.details', [], finished],
    ['$.fact.details.model', 7, finished],
    ['$.fact.details.safety[0].about', 'tool', finished],
    ['$.fact.details.timings.totalMs', '1', finished],
    ['$.fact.details.fromCache', false, finished],
    ['$.fact.code', secret, rejected],
    ['$.fact.outcome', secret, executed],
    ['$.fact.isError', 0, executed],
    ['$.fact.command', [secret], queued],
    ['$.fact.itemIds[1]', '\ud83d', compacted],
    ['$.fact.error.message', secrets, retry],
    ['$.fact.delayMs', -5, retry],
    ['$.fact.covers', [1], snapshot],
    ['$.fact.covers', [1, 2, 3], snapshot],
    ['$.fact.covers', [7, 1], snapshot],
    ['$.fact.covers[0]', 0, snapshot],
    ['$.fact.covers[1]', secret, snapshot],
    ['$.fact.items', secrets, snapshot],
    ['$.fact.items[0]', null, snapshot],
    ['$.fact.items[0].parts[1].partId', '1.1', snapshot],
    ['$.fact.items[0].parts[1].part.kind', secret, snapshot],
    ['$.fact.items[0].parts[0].part.text', secrets, snapshot],
    ['$.fact.items[0].parts[2].part.attachments[0].kind', 'text', snapshot],
    ['$.fact.items[0].parts[2].part.attachments[0].source.length', -1, snapshot],
    ['$.after', -1, batch],
    ['$.through', secret, batch],
    ['$.records', secrets, batch],
    ['$.records[0].delta.at', secret, batch],
    ['$.records[1].fact.items[0].itemId', '', batch],
    ['$.items', null, items],
    ['$.items[0].id', 'a\u007f', items],
    ['$.items[0].kind', secret, items],
    ['$.items[0].parts[1].source.bytes', 'AQ=', items],
    ['$.items[0].redacted', false, items],
    ['$.items[0].metadata', null, items],
  ])('%s: %j', (path, value, document) => {
    const refusal = refusalOf(() => decode(document, broken(document, path, value)));
    expect(refusal).toMatchObject({ code: 'bad_value', place: { path } });
    expect(refusal.message).toContain(`at ${path}: expected `);
    const told = [refusal.message, String(refusal.cause), JSON.stringify(refusal.place)];
    expect(told.join()).not.toContain(secret);
  });

  test('a document that is no object at all is bad as a whole', () => {
    for (const document of ['null', '[]', '7', '"a"', 'true', `["${secret}"]`]) {
      for (const read of [decodeRecord, decodeBatch, decodeTranscript]) {
        const refusal = refusalOf(() => read(document));
        expect(refusal).toMatchObject({ code: 'bad_value', place: { path: '$' } });
        expect(refusal.message).not.toContain(secret);
      }
    }
  });

  test('a record with a delta and a fact is refused, even where one of them is null', () => {
    for (const both of [{ fact: started.fact }, { fact: null }]) {
      const refusal = refusalOf(() => decodeRecord(JSON.stringify({ ...append, ...both })));
      expect(refusal).toMatchObject({ code: 'bad_value', place: { path: '$.delta' } });
      expect(refusal.message).toContain('found both');
    }
  });

  test('an optional field is absent or has a value, and is never null', () => {
    const optional: readonly [path: string, document: object][] = [
      ['$.fact.author', started],
      ['$.fact.metadata', started],
      ['$.delta.executionId', beginResult],
      ['$.delta.signature', commit],
      ['$.delta.partial', commit],
      ['$.delta.part.providerState', whole],
      ['$.items[0].stop', items],
      ['$.items[0].author', items],
      ['$.items[0].redacted', items],
    ];
    for (const [path, document] of optional) {
      expect(() => decode(document, broken(document, path, undefined))).not.toThrow();
      const refusal = refusalOf(() => decode(document, broken(document, path, null)));
      expect(refusal).toMatchObject({ code: 'bad_value', place: { path } });
    }
  });
});

describe('a version that is later than ours is refused as such', () => {
  test.each<[path: string, document: object]>([
    ['$.v', append],
    ['$.v', items],
    ['$.records[1].v', batch],
  ])('%s', (path, document) => {
    for (const v of [2, 1.5, 1e300]) {
      const refusal = refusalOf(() => decode(document, broken(document, path, v)));
      expect(refusal).toMatchObject({ code: 'unsupported_version', place: { path } });
    }
  });

  test('whatever else has changed in it', () => {
    const later = ['{"v":2}', '{"v":2,"offset":"a"}', '{"v":2,"delta":1,"fact":2,"note":3}'];
    for (const document of later) {
      const refusal = refusalOf(() => decodeRecord(document));
      expect(refusal).toMatchObject({ code: 'unsupported_version', place: { path: '$.v' } });
      expect(refusal.message).toContain('update');
    }
    expect(refusalOf(() => decodeTranscript('{"items":7,"v":2}')).code).toBe('unsupported_version');
  });
});

describe('a text that is not JSON is refused with the position where it stops being so', () => {
  test.each([
    ['', 0],
    ['{', 1],
    ['{"v":1,}', 7],
    ["{'v':1}", 1],
    ['{"v":NaN}', 5],
    ['{"v":1,"offset":1e999}', 16],
    ['{"v":1,"offset":-1e999}', 16],
    ['{"v":1} {"v":1}', 8],
    [`{"v":"${secret}\n"}`, 20],
    ['\ufeff{}', 0],
  ])('%j', (document, position) => {
    for (const read of [decodeRecord, decodeBatch, decodeTranscript]) {
      const refusal = refusalOf(() => read(document));
      expect(refusal).toMatchObject({ code: 'not_json', place: { position } });
      expect(refusal.message).not.toContain(secret);
    }
  });
});

describe('ids', () => {
  test.each(['', 'a\u0000', 'a\u001f', '\u007f', '\ud83d', '\ude00a', 'a'.repeat(1025)])(
    'that break logs, %j, are refused',
    (id) => {
      expect(refusalOf(() => decodeRecord(broken(started, '$.fact.itemId', id)))).toMatchObject({
        code: 'bad_value',
        place: { path: '$.fact.itemId' },
      });
    },
  );

  test.each(['a', '\ud83d\ude00', ' ', '\u0080', '\u2028', '__proto__', 'a'.repeat(1024)])(
    'of any other characters, %j, are taken',
    (id) => {
      const { fact } = decodeRecord(broken(started, '$.fact.itemId', id));
      expect(fact).toMatchObject({ itemId: id });
    },
  );
});

const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
const put = (document: object, path: string, json: string) =>
  broken(document, path, secret).replace(`"${secret}"`, () => json);

describe('a document that is nested too deeply is refused, whatever its depth', () => {
  test.each([1000, 10_000, 1_000_000])('%i levels', (levels) => {
    const documents = [
      '['.repeat(levels),
      `${'['.repeat(levels)}${']'.repeat(levels)}`,
      put(annotate, '$.delta.metadata', nested(levels)),
      put(append, '$.delta.type', `"later","more":${nested(levels)}`),
      put(append, '$.producer', `"a","ignored":${nested(levels)}`),
    ];
    for (const document of documents) {
      expect(refusalOf(() => decodeRecord(document)).code).toBe('too_large');
    }
  });
});

// A reader has to take what a writer took: 128 levels, wherever in a document they are.
describe('a value may be as deep as the limit in the innermost place that there is, and no deeper', () => {
  const attached = '$.records[1].fact.items[0].parts[2].part.attachments[0]';
  const state = (levels: number) => `{"provider":"p","model":"m","data":${nested(levels)}}`;

  test.each<[path: string, document: object, at: (levels: number) => string]>([
    [`${attached}.providerState`, batch, state],
    ['$.records[1].fact.items[0].parts[0].part.metadata', batch, nested],
    ['$.delta.value', replace, nested],
    ['$.fact.command', queued, nested],
    ['$.items[0].metadata', items, nested],
  ])('%s', (path, document, at) => {
    const read = (levels: number, limits?: Partial<ContentLimits>) => () =>
      decode(document, put(document, path, at(levels)), limits);
    expect(read(128)).not.toThrow();
    expect(refusalOf(read(129)).code).toBe('too_large');
    expect(read(3, { maxDepth: 3 })).not.toThrow();
    expect(refusalOf(read(4, { maxDepth: 3 })).code).toBe('too_large');
  });
});

describe('limits', () => {
  test('a document of very many values is too large, before they are made', () => {
    const many = `[${'[],'.repeat(2 ** 20)}[]]`;
    const refusal = refusalOf(() => decodeRecord(many));
    expect(refusal).toMatchObject({ code: 'too_large' });
  });

  test('a document of 100 MB is refused before it is read', () => {
    const long = 'x'.repeat(1e8);
    for (const document of [`"${long}"`, long, `${' '.repeat(1e8)}{}`]) {
      const refusal = refusalOf(() => decodeRecord(document));
      expect(refusal).toMatchObject({ code: 'too_large', place: { position: 64 * 2 ** 20 } });
      expect(refusal.message).toContain('maxDocumentLength');
    }
  });

  test('a document may be as long as the caller says', () => {
    const document = JSON.stringify(append);
    const { length } = document;
    expect(() => decodeRecord(document, { maxDocumentLength: length })).not.toThrow();
    const refusal = refusalOf(() => decodeRecord(document, { maxDocumentLength: length - 1 }));
    expect(refusal.code).toBe('too_large');
  });

  test.each<[what: string, document: object, path: string, fits: unknown, over: unknown]>([
    ['a text', append, '$.delta.chunk', 'x'.repeat(40), 'x'.repeat(41)],
    ['a name', append, '$.producer', 'x'.repeat(40), 'x'.repeat(41)],
    ['the values of JSON', replace, '$.delta.value', Array(39).fill(0), Array(40).fill(0)],
    ['the text in JSON', replace, '$.delta.value', ['x'.repeat(38)], ['x'.repeat(39)]],
    ['the keys in JSON', annotate, '$.delta.metadata', { [secret]: 1 }, { [secret.repeat(3)]: 1 }],
  ])('%s may be as long as the caller says', (_what, document, path, fits, over) => {
    const limits = { maxTextLength: 40 };
    expect(() => decodeRecord(broken(document, path, fits), limits)).not.toThrow();
    const refusal = refusalOf(() => decodeRecord(broken(document, path, over), limits));
    expect(refusal).toMatchObject({ code: 'too_large', place: { path } });
    expect(refusal.message).not.toContain(secret);
  });

  test('bytes may be as many as the caller says, whatever the length of their base64', () => {
    const most = { maxBytesLength: 4 };
    for (const [count, base64] of ['', 'AA==', 'AAA=', 'AAAA', 'AAAAAA=='].entries()) {
      expect(() => decodeRecord(broken(appendBytes, '$.delta.chunk', base64), most)).not.toThrow();
      const limits = { maxBytesLength: count - 1 };
      const refusal = refusalOf(() =>
        decodeRecord(broken(appendBytes, '$.delta.chunk', base64), limits),
      );
      expect(refusal).toMatchObject({ code: 'too_large', place: { path: '$.delta.chunk' } });
    }
  });
});

test.each(['A', 'AA', 'AAA', 'AAAAA', 'A===', '====', '=', 'AA=A', 'AB==', 'AAB=', 'AAAA\n'])(
  'bytes that are not base64 as we write it are refused: %j',
  (base64) => {
    expect(
      refusalOf(() => decodeRecord(broken(appendBytes, '$.delta.chunk', base64))),
    ).toMatchObject({ code: 'bad_value', place: { path: '$.delta.chunk' } });
  },
);

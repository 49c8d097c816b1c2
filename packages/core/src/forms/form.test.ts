import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../json/json-value.ts';
import { runs } from '../testing/runs.ts';
import { checkForm } from './check-form.ts';
import { type FormField, formLimits, readForm } from './form.ts';
import { foldersQuestion, modelQuestion } from './program-question.ts';

const form = (properties: JsonObject, required: readonly string[] = []) =>
  readForm({ message: 'Who are you?', schema: { type: 'object', properties, required } });

function fieldsOf(properties: JsonObject, required: readonly string[] = []): readonly FormField[] {
  const read = form(properties, required);
  return read.ok ? read.fields : expect.fail(read.problem);
}

test('a form has texts, numbers, booleans, choices and several choices', () => {
  const fields = fieldsOf(
    {
      name: { type: 'string', title: 'Your name', minLength: 2, default: 'Ada' },
      mail: { type: 'string', format: 'email' },
      age: { type: 'integer', minimum: 0 },
      isNew: { type: 'boolean', default: true },
      size: { type: 'string', enum: ['s', 'l'], enumNames: ['Small', 'Large'], default: 'l' },
      color: { type: 'string', oneOf: [{ const: '#f00', title: 'Red' }] },
      days: { type: 'array', maxItems: 1, items: { type: 'string', enum: ['Mon', 'Tue'] } },
    },
    ['name'],
  );
  expect(fields.map(({ kind }) => kind)).toEqual([
    ...['text', 'text', 'number', 'boolean', 'choice', 'choice', 'choices'],
  ]);
  expect(fields[0]).toMatchObject({ title: 'Your name', isRequired: true, initial: 'Ada' });
  expect(fields[4]).toMatchObject({ options: [{ label: 'Small' }, {}], initial: 'l' });
  expect(fields[5]).toMatchObject({ options: [{ value: '#f00', label: 'Red' }] });
});

test.each<readonly [string, JsonObject]>([
  ['a nested object', { a: { type: 'object', properties: {} } }],
  ['a list of objects', { a: { type: 'array', items: { type: 'object' } } }],
  ['no type', { a: {} }],
  ['an empty choice', { a: { type: 'string', enum: [] } }],
  ['an option that is a number', { a: { type: 'string', enum: [1] } }],
  ['an option twice', { a: { type: 'string', enum: ['x', 'x'] } }],
  [
    'too many options',
    { a: { type: 'string', enum: Array.from({ length: 201 }, (_, n) => `${n}`) } },
  ],
  ['a long title', { a: { type: 'string', title: 'x'.repeat(formLimits.titleLength + 1) } }],
  ['a long name', { ['x'.repeat(formLimits.nameLength + 1)]: { type: 'string' } }],
  [
    'too many fields',
    Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`f${n}`, { type: 'string' }])),
  ],
])('attack: a form with %s is refused', (_, properties) => {
  expect(form(properties)).toMatchObject({ ok: false, problem: expect.any(String) });
});

test.each<readonly [string, JsonObject, JsonValue, string | undefined]>([
  ['a short text', { type: 'string', minLength: 3 }, 'ab', 'at least 3'],
  ['a long text', { type: 'string', maxLength: 3 }, 'abcd', 'at most 3'],
  ['a text of any length', { type: 'string' }, 'x'.repeat(10_001), 'at most 10000'],
  ['an email address', { type: 'string', format: 'email' }, 'ada@example.com', undefined],
  ['no email address', { type: 'string', format: 'email' }, 'ada', 'email'],
  ['an address', { type: 'string', format: 'uri' }, 'https://a.test/b', undefined],
  ['no address', { type: 'string', format: 'uri' }, 'a b', 'address'],
  ['a date', { type: 'string', format: 'date' }, '2026-02-28', undefined],
  ['no date', { type: 'string', format: 'date' }, '2026-13-28', 'date'],
  ['a time', { type: 'string', format: 'date-time' }, '2026-02-28T10:00:00Z', undefined],
  ['no time', { type: 'string', format: 'date-time' }, 'tomorrow', 'time'],
  [
    'a pattern that could take very long',
    { type: 'string', pattern: '(a+)+$' },
    'aaaa!',
    undefined,
  ],
  ['a number as a text', { type: 'number' }, '4', 'number'],
  ['half of an integer', { type: 'integer' }, 0.5, 'whole'],
  ['a number below the minimum', { type: 'number', minimum: 1 }, 0, '1 or more'],
  ['a number above the maximum', { type: 'number', maximum: 1 }, 2, '1 or less'],
  ['a boolean as a text', { type: 'boolean' }, 'true', 'yes or no'],
  ['an unknown option', { type: 'string', enum: ['a'] }, 'b', 'one of'],
  ['an option twice', { type: 'array', items: { enum: ['a', 'b'] } }, ['a', 'a'], 'from'],
  ['too few options', { type: 'array', minItems: 2, items: { enum: ['a', 'b'] } }, ['a'], 'least'],
  [
    'too many options',
    { type: 'array', maxItems: 1, items: { enum: ['a', 'b'] } },
    ['a', 'b'],
    'most',
  ],
])('an answer with %s', (_, property, value, problem) => {
  const checked = checkForm(fieldsOf({ a: property }), { a: value });
  if (problem === undefined) expect(checked).toEqual({ ok: true, content: { a: value } });
  else
    expect(checked).toEqual({
      ...{ ok: false, problems: new Map([['a', expect.stringContaining(problem)]]) },
    });
});

test('an answer has the fields of the form only, and no empty optional ones', () => {
  const fields = fieldsOf({ a: { type: 'string' }, b: { type: 'string' } }, ['a']);
  expect(checkForm(fields, { a: 'x', b: '', other: 1 })).toEqual({ ok: true, content: { a: 'x' } });
  for (const answer of [{}, { a: '' }, { a: null }, null, 'text', []])
    expect(checkForm(fields, answer)).toMatchObject({ ok: false });
});

test('attack: the name __proto__ is a name like others', () => {
  const properties = JSON.parse('{"__proto__": {"type": "string"}}') as JsonObject;
  const content = JSON.parse('{"__proto__": "x"}') as JsonObject;
  expect(checkForm(fieldsOf(properties), content)).toEqual({ ok: true, content });
  expect(({} as { readonly x?: unknown }).x).toBeUndefined();
});

test('attack: no schema and no answer throws', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (schema, answer) => {
      const given = { message: 'x', schema: schema as JsonObject };
      const read = readForm(given);
      if (read.ok) checkForm(read.fields, answer as JsonValue);
    }),
    { numRuns: runs(200) },
  );
});

test('a form can have a key for programs: a short name', () => {
  const schema = { type: 'object', properties: {} };
  const read = (key: string) => readForm({ message: 'Who?', schema, key }).ok;
  expect(['user_name', 'a.b-c', 'x'.repeat(64)].map(read)).toEqual([true, true, true]);
  expect(['', 'x'.repeat(65), 'a b', 'a\n', 'ä'].map(read)).toEqual([
    ...[false, false, false, false, false],
  ]);
});

test('questions to a model and about folders are forms with one text', () => {
  const asked = modelQuestion({ prompt: 'Hi', maxTokens: 5, key: 'k' });
  expect(asked).toMatchObject({
    message: 'Hi',
    key: 'k',
    request: { type: 'model', maxTokens: 5 },
  });
  for (const [question, name] of [
    [asked, 'text'],
    [foldersQuestion(), 'folders'],
  ] as const) {
    const read = readForm(question);
    const fields = read.ok ? read.fields : expect.fail(read.problem);
    expect(checkForm(fields, { [name]: 'a\nb' })).toEqual({
      ...{ ok: true, content: { [name]: 'a\nb' } },
    });
    expect(checkForm(fields, {}).ok).toBe(false);
  }
});

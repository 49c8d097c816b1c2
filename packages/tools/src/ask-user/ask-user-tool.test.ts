import { expect, test } from 'vitest';
import { runTool } from '../testing/tool-context.ts';
import { askUserTool, type UserAnswer, type UserQuestion } from './ask-user-tool.ts';

/** Creates a tool that gets this answer, and that records the questions. */
function askedWith(answer: UserAnswer | (() => Promise<UserAnswer>)) {
  const seen: UserQuestion[] = [];
  const tool = askUserTool({
    ask: async (question) => {
      seen.push(question);
      return typeof answer === 'function' ? answer() : answer;
    },
  });
  return { tool, seen };
}

const database = {
  question: 'Which database?',
  options: [{ label: 'SQLite', description: 'A file' }, { label: 'Postgres' }],
};

test('the tool has no effects and may be replayed', () => {
  const { tool } = askedWith('yes');
  expect(tool).toMatchObject({ name: 'ask_user', effects: 'none', afterCrash: 'repeat' });
  expect(tool.timeoutMs).toBeUndefined();
  expect(tool.inputSchema).toMatchObject({ type: 'object', required: ['question'] });
});

test('the person sees the question with its options, and the model gets the answer unchanged', async () => {
  const { tool, seen } = askedWith('SQLite');
  expect(await runTool(tool, database)).toEqual({
    text: 'SQLite',
    value: ['SQLite'],
    isError: false,
    updates: [],
  });
  expect(seen).toEqual([{ ...database, multiple: false }]);
});

test('a question without options has an empty list of options', async () => {
  const { tool, seen } = askedWith('Ada');
  await runTool(tool, { question: 'Your name?' });
  expect(seen).toEqual([{ question: 'Your name?', options: [], multiple: false }]);
});

test('several answers are listed one per line', async () => {
  const { tool, seen } = askedWith(['SQLite', 'Postgres']);
  const { text, value } = await runTool(tool, { ...database, multiple: true });
  expect(text).toBe('- SQLite\n- Postgres');
  expect(value).toEqual(['SQLite', 'Postgres']);
  expect(seen[0]?.multiple).toBe(true);
});

test.each([
  ['undefined', undefined],
  ['an empty text', ''],
  ['only spaces', '  \n'],
  ['an empty list', []],
  ['a list of nothing', ['']],
])('a dismissed question, answered with %s, gives a result that says so', async (_, answer) => {
  const { tool } = askedWith(answer);
  expect(await runTool(tool, database)).toEqual({
    text: expect.stringContaining('dismissed'),
    value: null,
    isError: false,
    updates: [],
  });
});

test('an error of the application becomes an error result', async () => {
  const { tool } = askedWith(() => Promise.reject(new Error('nobody is at the terminal')));
  expect(await runTool(tool, database)).toMatchObject({
    isError: true,
    text: 'nobody is at the terminal',
  });
});

test('an abort ends the wait, even if the application ignores the signal', async () => {
  const abort = new AbortController();
  const signals: AbortSignal[] = [];
  const tool = askUserTool({
    ask: (_, signal) => {
      signals.push(signal);
      abort.abort(new Error('stopped by the user'));
      return new Promise<string>(() => {});
    },
  });
  const { thrown } = await runTool(tool, database, { signal: abort.signal });
  expect(thrown).toBe(abort.signal.reason);
  expect(signals[0]?.aborted).toBe(true);
});

test('after an abort no question is asked', async () => {
  const { tool, seen } = askedWith('yes');
  const { thrown } = await runTool(tool, database, { signal: AbortSignal.abort('over') });
  expect(thrown).toBe('over');
  expect(seen).toEqual([]);
});

test.each([
  ['no question', {}, 'question'],
  ['an empty question', { question: '' }, 'question'],
  [
    'two options of one label',
    { question: 'Go?', options: [{ label: 'a' }, { label: 'a' }] },
    'options: each label must be unique',
  ],
  ['an option without a label', { question: 'Go?', options: [{}] }, 'options.0.label'],
  [
    'too many options',
    { question: 'Go?', options: Array.from({ length: 21 }, (_, at) => ({ label: `${at}` })) },
    'options',
  ],
  ['a question that is too long', { question: 'x'.repeat(4_001) }, 'question'],
  ['a field that is not known', { question: 'Go?', default: 'a' }, 'default'],
])('%s is refused before the question is asked', async (_, input, problem) => {
  const { tool, seen } = askedWith('yes');
  expect(await runTool(tool, input)).toMatchObject({
    isError: true,
    text: expect.stringContaining(problem),
  });
  expect(seen).toEqual([]);
});

test('a summary is one line', () => {
  const { tool } = askedWith('yes');
  expect(tool.summarize({ question: 'Go?\nReally?' })).toBe('Ask: Go?');
});

test('its name can be changed', () => {
  expect(askUserTool({ ask: async () => 'yes', name: 'ask' }).name).toBe('ask');
});

test.each([
  ['a chosen answer', { answer: 'SQLite' }, ['SQLite']],
  ['another answer instead', { answer: 'SQLite', other: 'DuckDB' }, ['DuckDB']],
])(
  '22.forms: without a function the question is a form, and %s is the answer',
  async (_, content, value) => {
    const forms: unknown[] = [];
    const ask = async (form: unknown) => {
      forms.push(form);
      return { action: 'accept', content } as const;
    };
    const result = await runTool(askUserTool(), database, { ask });
    expect(result).toMatchObject({ value, isError: false });
    expect(forms).toMatchObject([
      {
        message: 'Which database?',
        schema: {
          properties: { answer: { oneOf: [{ const: 'SQLite', description: 'A file' }, {}] } },
        },
      },
    ]);
  },
);

test('22.forms: several answers of a form, a declined form, and nobody to ask', async () => {
  const ask = async () =>
    ({ action: 'accept', content: { answer: ['SQLite', 'Postgres'], other: 'DuckDB' } }) as const;
  expect(await runTool(askUserTool(), { ...database, multiple: true }, { ask })).toMatchObject({
    value: ['SQLite', 'Postgres', 'DuckDB'],
  });
  const declined = async () => ({ action: 'decline' }) as const;
  expect(await runTool(askUserTool(), database, { ask: declined })).toMatchObject({ value: null });
  expect(await runTool(askUserTool(), database)).toMatchObject({ isError: true });
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { agentsFromExports, loadAgents } from './served-agents.ts';

const log = memoryLog();
const folder = temporaryFolder('agents');
const options = { log, fileName: 'agents.ts' };
const provider = scriptedProvider(['Yes.']);
const sync = { type: 'sync', name: 'one', onMessage: async () => [] };
const later = { type: 'async', name: 'two', onEvent: async () => {} };

describe('what a module exports', () => {
  test('is served under its own name, one by one, in lists, and made by functions', async () => {
    const made = await agentsFromExports(
      { sync, more: [later], all: async () => [{ ...sync, name: 'three' }] },
      options,
    );
    expect(made.map(({ type, name }) => [type, name])).toEqual([
      ['sync', 'one'],
      ['async', 'two'],
      ['sync', 'three'],
    ]);
  });

  test('is an agent loop where a function makes one with the log, named after the export or the file', async () => {
    const make = (given: { readonly log: typeof log }) => {
      expect(given.log).toBe(log);
      return createAgent({ provider, ...given });
    };
    const made = await agentsFromExports({ reviewBot: make, default: make }, options);
    expect(made).toMatchObject([
      { type: 'loop', name: 'review-bot' },
      { type: 'loop', name: 'agents' },
    ]);
  });

  test.each([
    ['nothing', {}, 'Cannot serve agents.ts: it exports nothing'],
    ['a number', { answer: 42 }, 'its export "answer" is a number. An agent is {'],
    ['null', { answer: null }, 'its export "answer" is null'],
    ['an object that is none', { answer: {} }, 'its export "answer" is not an agent'],
    ['one without its handler', { a: { ...sync, onMessage: 1 } }, 'its export "a" is not an agent'],
    ['a name that cannot be in a path', { a: { ...sync, name: 'A b' } }, 'needs a `name` of lower'],
    ['a loop with another log', { a: createAgent({ provider }) }, 'has its own log. Export ({'],
    [
      'a served loop with another log',
      { a: { type: 'loop', name: 'a', agent: createAgent({ provider }) } },
      'has its own log. Export ({ log }) =>',
    ],
  ])('cannot be %s', async (_, exports, message) => {
    await expect(agentsFromExports(exports, options)).rejects.toThrow(message);
  });
});

describe('a file of agents', () => {
  test('may be TypeScript', async () => {
    const path = join(folder(), 'mine.ts');
    const text = 'async (): Promise<readonly never[]> => []';
    writeFileSync(path, `export default { type: 'sync', name: 'mine', onMessage: ${text} };`);
    expect(await loadAgents(path, log)).toMatchObject([{ name: 'mine' }]);
  });

  test('that does not exist or does not load is reported with its name and the problem', async () => {
    const path = join(folder(), 'none.ts');
    await expect(loadAgents(path, log)).rejects.toThrow(
      `Cannot serve ${path}: the file does not exist`,
    );
    const broken = join(folder(), 'broken.ts');
    writeFileSync(broken, 'throw new RangeError("no key")');
    await expect(loadAgents(broken, log)).rejects.toThrow(
      `Cannot load ${broken}: RangeError: no key`,
    );
  });
});

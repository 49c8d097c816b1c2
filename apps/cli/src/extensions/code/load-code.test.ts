import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { VirtualClock } from '../../../../../packages/providers/src/testing/virtual-clock.ts';
import type { Env } from '../../contract/host.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { loadExtensionCode } from './load-code.ts';
import { findExtensionModules } from './module-files.ts';

const folder = temporaryFolder('extensions');
let count = 0;
let root: string;
beforeEach(() => {
  root = join(folder(), String(++count));
  mkdirSync(join(root, '.millrace/extensions'), { recursive: true });
});

/** Writes extensions of a project, and loads them as if the user trusts them. */
async function load(files: Readonly<Record<string, string>>, env: Env = {}) {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(root, '.millrace/extensions', name, '..'), { recursive: true });
    writeFileSync(join(root, '.millrace/extensions', name), text);
  }
  const place = { folder: join(root, '.millrace'), parent: root, origin: 'project', root } as const;
  const modules = await findExtensionModules({ ...place, cwd: root }, () => {});
  const code = await loadExtensionCode(modules, { cwd: root, env, clock: new VirtualClock() });
  if (code === undefined) throw new Error('There is no extension');
  onTestFinished(() => code.close());
  return { code, modules };
}

describe('an extension in TypeScript', () => {
  test('adds tools, commands, renderers, a status, themes and models without a build', async () => {
    const { code, modules } = await load(
      {
        'weather.ts': `
          import type { Extension } from '@millrace/tools/extension';
          import { degrees } from './parts/units.ts';
          const extension: Extension = (millrace) => {
            millrace.tool({
              name: 'weather',
              description: 'The weather',
              input: { type: 'object', properties: { city: { type: 'string' } } },
              execute: async ({ city }, { cwd }) => ({ city: city ?? null, text: degrees(7), cwd }),
            });
            millrace.command({
              name: 'weather',
              description: 'Ask for the weather',
              argument: '[city]',
              run: (city) => ({ print: 'Looking …', send: \`How is the weather in \${city}?\` }),
            });
            millrace.renderer({ tools: ['bash'], render: ({ text }) => text.toUpperCase() });
            millrace.status('7 °C');
            millrace.theme({ name: 'sun', styles: { heading: 'bold #ffcc00', code: 'bright-red' } });
            millrace.model({ name: 'ours', model: 'tiny', baseUrl: 'http://127.0.0.1:9/v1', keyVariable: 'OURS' });
          };
          export default extension;
          export const apiVersion = 1;
        `,
        'parts/units.ts':
          "export const degrees = (value: number): string => String(value) + ' °C';",
      },
      { OURS: 'key' },
    );
    expect(modules.map(({ name }) => name)).toEqual(['weather']);
    expect(code.problems).toEqual([]);
    const [tool] = code.tools;
    const { signal } = new AbortController();
    expect(await tool?.execute({ city: 'Oslo' }, { signal } as never)).toEqual({
      ...{ city: 'Oslo', text: '7 °C', cwd: root },
    });
    expect(await code.commands[0]?.run('Oslo')).toEqual({
      ...{ print: 'Looking …', send: 'How is the weather in Oslo?' },
    });
    expect(code.rendered).toEqual(new Set(['bash']));
    expect(await code.render({ tool: 'bash', input: {}, text: 'ok' })).toBe('OK');
    expect(code.status()).toEqual(['7 °C']);
    expect(code.themes.map(({ name }) => name)).toEqual(['sun']);
    expect(code.models).toEqual({
      ours: {
        provider: 'compatible',
        model: 'tiny',
        baseUrl: 'http://127.0.0.1:9/v1',
        apiKey: 'key',
      },
    });
  });

  test('23: has keys for its commands, except keys of the chat and of other commands', async () => {
    const command = (name: string, key: string) =>
      `millrace.command({ name: '${name}', description: '', key: '${key}', run: () => undefined });`;
    const { code } = await load({
      'keys.js': `export default (millrace) => {
        ${command('one', 'alt+o')} ${command('two', 'ctrl+r')} ${command('three', 'alt+o')}
      };`,
      'odd.js': `export default (millrace) => { ${command('odd', 'o')} };`,
    });
    expect(code.commands.map(({ name, key }) => [name, key])).toEqual([
      ['one', 'alt+o'],
      ['two', undefined],
      ['three', undefined],
    ]);
    expect(code.problems).toEqual([
      expect.stringMatching(/odd\.js is not used.*invalid value \(commands\.0\.key\)/),
      'The key ctrl+r of /two of keys is not used: the key is taken.',
      'The key alt+o of /three of keys is not used: the key is taken.',
    ]);
  });

  test('can be a folder with index.ts', async () => {
    const { modules } = await load({ 'one/index.ts': 'export default () => {};' });
    expect(modules.map(({ name }) => name)).toEqual(['one']);
  });

  test('that throws in a tool gives a tool error, and the next call works', async () => {
    const { code } = await load({
      'tools.js': `let calls = 0;
        export default (millrace) => millrace.tool({
          name: 'odd', description: 'Fails once',
          execute: () => { if (calls++ === 0) throw new Error('Not today'); return 'Fine'; },
        });`,
    });
    const { signal } = new AbortController();
    const call = () => code.tools[0]?.execute({}, { signal } as never) as Promise<unknown>;
    await expect(call()).rejects.toThrow('Not today');
    expect(await call()).toBe('Fine');
  });

  test('is told when the user stops a call', async () => {
    const { code } = await load({
      'slow.ts': `export default (millrace: any) => {
        millrace.tool({ name: 'slow', description: 'Waits', execute: (_: unknown, { signal }: any) =>
          new Promise((done) => signal.addEventListener('abort', () => { millrace.status('stopped'); done('late'); })) });
      };`,
    });
    const abort = new AbortController();
    const call = code.tools[0]?.execute({}, { signal: abort.signal } as never) as Promise<unknown>;
    abort.abort(new Error('The user stopped'));
    await expect(call).rejects.toThrow('The user stopped');
    await expect.poll(() => code.status()).toEqual(['stopped']);
  });

  test('23: with an error is skipped with the line of the error', async () => {
    const { code } = await load({
      'syntax.ts': 'export default () => {\n  const a: number = ;\n};',
      'enum.ts': '\n\nenum A { x }\nexport default () => {};',
      'throws.ts': 'export default (millrace: any) => {\n  millrace.nothing();\n};',
    });
    expect(code.problems.toSorted()).toEqual([
      expect.stringMatching(/enum\.ts is not used.*enum is not supported.*\(enum\.ts:3\)/),
      expect.stringMatching(/syntax\.ts is not used.*Expression expected \(syntax\.ts:2\)/),
      expect.stringMatching(/throws\.ts is not used.*not a function \(throws\.ts:2\)/),
    ]);
  });

  test('that needs another version of the API is skipped with the reason', async () => {
    const { code } = await load({
      'old.ts': 'export const apiVersion = 2; export default () => {};',
      'none.ts': 'export const x = 1;',
    });
    expect(code.problems.toSorted()).toEqual([
      expect.stringMatching(/none\.ts is not used.*default export is not a function/),
      expect.stringMatching(/old\.ts is not used.*version 2 of the API, and this program has 1/),
    ]);
  });
});

import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isRuntimeMissing, programOf } from './runtimes/installed.ts';

const root = join(import.meta.dirname, '..');
const packages = ['core', 'log', 'providers', 'agent', 'client'];
/**
 * The types of the packages refer to these packages. No other packages are installed, not even
 * optional peers.
 */
const needed = ['@standard-schema/spec'];

/** A program that uses each main entry as a new user would. */
const program = `
import { createAgent, defineTool, openTelemetryObserver, RunSpanIds } from '@millrace/agent';
import { createClient } from '@millrace/client';
import { randomIds, sessionId, type AgentEvent } from '@millrace/core';
import { memoryLog, type Log } from '@millrace/log';
import { indexedDbLog } from '@millrace/log/indexeddb';
import { durableObjectLog } from '@millrace/log/durable-object';
import { logCases } from '@millrace/log/suite';
import { anthropic } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';

const log: Log = memoryLog();
const agent = createAgent({ provider: scriptedProvider(['Hello.']), log });
export async function main(): Promise<string> {
  const run = agent.run('Hello', { session: sessionId('s') });
  const events: AgentEvent[] = [];
  for await (const event of run.events) events.push(event);
  return (await run.result).text;
}
export const ids = randomIds((bytes) => crypto.getRandomValues(bytes));
export const spanIds = new RunSpanIds();
export const task = createClient({ url: 'http://localhost:8787' }).task('t');
export { anthropic, defineTool, durableObjectLog, indexedDbLog, logCases, openTelemetryObserver };
`;

let folder = '';

/** Creates an empty project with the built packages, as npm would install them. */
beforeAll(() => {
  execFileSync(
    process.execPath,
    [
      join(root, 'node_modules/typescript/bin/tsc'),
      '-b',
      ...packages.map((name) => `packages/${name}`),
    ],
    { cwd: root },
  );
  folder = mkdtempSync(join(tmpdir(), 'millrace-types-'));
  const modules = join(folder, 'node_modules');
  for (const name of packages) {
    const from = join(root, 'packages', name);
    const to = join(modules, '@millrace', name);
    for (const file of globSync(['package.json', 'dist/**/*.d.ts'], { cwd: from })) {
      mkdirSync(join(to, file, '..'), { recursive: true });
      cpSync(join(from, file), join(to, file));
    }
  }
  for (const name of needed)
    cpSync(join(root, 'node_modules', name), join(modules, name), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'main.ts'), program);
  const compilerOptions = {
    ...{ noEmit: true, strict: true, skipLibCheck: false, exactOptionalPropertyTypes: true },
    ...{ module: 'nodenext', target: 'es2022', lib: ['es2022', 'dom', 'dom.iterable'], types: [] },
  };
  const project = { compilerOptions, files: ['main.ts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function compile(compiler: string): string {
  try {
    return execFileSync(process.execPath, [compiler, '-p', folder], { encoding: 'utf8' });
  } catch (error) {
    return (error as { readonly stdout?: string }).stdout || String(error);
  }
}

describe('20.03: a strict project compiles without optional peers', () => {
  test('with the TypeScript of the project', () => {
    expect(compile(join(root, 'node_modules/typescript/bin/tsc'))).toBe('');
  });

  test.skipIf(isRuntimeMissing('typescript 5.0'))('with TypeScript 5.0', () => {
    expect(compile(programOf('typescript 5.0'))).toBe('');
  });
});

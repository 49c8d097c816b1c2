import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { API } from 'typescript/unstable/async';
import type { Snippet } from './read-snippets.ts';
import type { SnippetOutcome } from './run-in-process.ts';

/**
 * Snippets as files in one folder of the repository. So their imports resolve in the same way as in
 * an example.
 */
export interface SnippetFiles {
  readonly folder: string;
  readonly files: ReadonlyMap<string, Snippet>;
  remove(): void;
}

export function writeSnippets(snippets: readonly Snippet[]): SnippetFiles {
  mkdirSync('.snippets', { recursive: true });
  const folder = resolve(mkdtempSync('.snippets/run-'));
  const files = new Map<string, Snippet>();
  for (const snippet of snippets) {
    const slug = snippet.document.replace(/\.md$/, '').replace(/[^a-zA-Z0-9]+/g, '-');
    const file = join(folder, `${slug}-${snippet.line}.${snippet.language}`);
    // The export makes a file without imports a module. It is at the end, so that the line numbers
    // stay correct.
    writeFileSync(file, `${snippet.code}export {};\n`);
    files.set(file, snippet);
  }
  return { folder, files, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/**
 * The compiler options of a careful user: `strict`, and two checks that `strict` does not include.
 */
const compilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  skipLibCheck: true,
  composite: false,
  declaration: false,
  declarationMap: false,
  isolatedDeclarations: false,
  noUnusedLocals: false,
  noUnusedParameters: false,
  noPropertyAccessFromIndexSignature: false,
  allowImportingTsExtensions: true,
  rewriteRelativeImportExtensions: false,
  lib: [
    'es2024',
    'esnext.iterator',
    'esnext.collection',
    'esnext.disposable',
    'dom',
    'dom.iterable',
  ],
  types: ['node'],
  jsx: 'react-jsx',
};

/**
 * Returns the type errors of all snippets, with their positions in the documents. All snippets are
 * in one program. The compiler checks only the snippets, because `npm run build` checks the sources
 * of the packages.
 */
export async function typeErrors({ folder, files }: SnippetFiles): Promise<readonly string[]> {
  const config = join(folder, 'tsconfig.json');
  const names = [...files.keys()];
  const extended = resolve('tsconfig.base.json');
  writeFileSync(config, JSON.stringify({ extends: extended, compilerOptions, files: names }));
  const api = new API({ cwd: process.cwd() });
  try {
    const snapshot = await api.updateSnapshot({ openProjects: [config] });
    const [project] = snapshot.getProjects();
    if (project === undefined) throw new Error(`TypeScript cannot open ${config}`);
    const errors: string[] = [];
    for (const [file, snippet] of files) {
      const { program } = project;
      const syntactic = await program.getSyntacticDiagnostics(file);
      const semantic = syntactic.length > 0 ? [] : await program.getSemanticDiagnostics(file);
      for (const { pos, code, text } of [...syntactic, ...semantic]) {
        const line = snippet.line + snippet.code.slice(0, pos).split('\n').length - 1;
        errors.push(`${snippet.document}:${line}: TS${code}: ${text}`);
      }
    }
    return errors;
  } finally {
    await api.close();
  }
}

/** A snippet that ran, and its outcome. */
export interface RanSnippet extends SnippetOutcome {
  readonly snippet: Snippet;
}

/**
 * Matches snippets that must run last. Their package listens for unhandled rejections of the
 * process.
 */
const listensToProcess = /from '@openai\/agents'/;

/**
 * Runs all snippets that can run. They share a process, so that the packages are loaded only once.
 */
export function runSnippets({ folder, files }: SnippetFiles): Promise<readonly RanSnippet[]> {
  const able = [...files].filter(([, snippet]) => snippet.checkOnly === undefined);
  const [first = [], last = []] = [false, true].map((isLast) =>
    able.filter(([, { code }]) => listensToProcess.test(code) === isLast),
  );
  return runTogether(folder, 'snippets', [...first, ...last]);
}

async function runTogether(
  folder: string,
  name: string,
  group: readonly (readonly [string, Snippet])[],
): Promise<readonly RanSnippet[]> {
  const [list, results] = [join(folder, `${name}.json`), join(folder, `${name}.results.json`)];
  writeFileSync(list, JSON.stringify(group.map(([file]) => file)));
  writeFileSync(results, '[]');
  const runner = 'scripts/snippets/run-in-process.ts';
  const { code, output } = await run('--conditions=@millrace/source', runner, list, results);
  const outcomes = JSON.parse(readFileSync(results, 'utf8')) as readonly SnippetOutcome[];
  const next = group[outcomes.length]?.[1];
  const isBroken = outcomes.at(-1)?.error !== undefined;
  if (next !== undefined && !isBroken) {
    const place = `${next.document}:${next.line}`;
    throw new Error(`The snippets stopped at ${place} with exit code ${code}: ${output}`);
  }
  const ran = outcomes.flatMap((outcome, index) => {
    const snippet = group[index]?.[1];
    return snippet === undefined ? [] : [{ ...outcome, snippet }];
  });
  // If a snippet throws, its process ends. The remaining snippets run in a new process.
  const rest = group.slice(outcomes.length);
  return rest.length === 0 ? ran : [...ran, ...(await runTogether(folder, `${name}-`, rest))];
}

/** A snippet that runs longer than this is stopped. The error contains its name. */
const stuckMs = 120_000 * Number(process.env['MILLRACE_TEST_PATIENCE'] ?? 1);

function run(...args: readonly string[]): Promise<{ code: number | null; output: string }> {
  // The API keys of this machine are removed, so that snippets behave the same on every machine.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/_API_KEY$|^NODE_OPTIONS$|^VITEST/.test(name)),
  );
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
    timeout: stuckMs,
    killSignal: 'SIGKILL',
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}

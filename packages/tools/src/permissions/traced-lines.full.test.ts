import { sep } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isFull, patientMs, runs } from '../../../core/src/testing/runs.ts';
import { commandLines, createTrapWorld, type TrapWorld } from '../testing/policy/command-lines.ts';
import { commandRuling } from '../testing/policy/policy-ruling.ts';
import { hasStrace, type Traced, traceBash } from '../testing/policy/traced-bash.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import type { PermissionRule } from './permission-rule.ts';
import { splitCommand } from './split-command.ts';

// Law: what a traced bash opened, wrote and executed for a line that needs no question is within
// what the policy allows without a question.

const rules: readonly PermissionRule[] = [{ path: 'denied/**', decision: 'deny' }];
type IsAllowed = (line: string, world: TrapWorld) => Promise<boolean>;
const byPolicy: IsAllowed = async (line, { root }) => (await commandRuling(root, line)) === 'allow';
const byPolicyWithRules: IsAllowed = async (line, { root }) =>
  (await commandRuling(root, line, { rules })) === 'allow';

/** Returns everything that a line did and no command may do without a question. */
function violations(line: string, { base, root, outside }: TrapWorld, traced: Traced) {
  const names = splitCommand(line).parts.map(([first]) => first?.text ?? '');
  const isSecret = (path: string) =>
    [`${root}/.env`, `${root}/tls/server.pem`, '/etc/hostname'].includes(path) ||
    path.startsWith(outside + sep) ||
    path === outside ||
    /^\/proc\/\d+\/environ$/.test(path);
  return {
    executed: traced.executed.filter((path) => {
      const name = path.slice(path.lastIndexOf('/') + 1);
      return path.startsWith(base) || !(name === 'bash' || names.includes(name));
    }),
    read: traced.read.filter(isSecret),
    changed: traced.changed.filter(
      // `git status` renews the cache of file times, under its lock.
      (change) => change !== '/dev/null' && !change.includes(`${root}/.git/index.lock`),
    ),
    connected: traced.connected.filter((call) => !/AF_UNIX.*\/(?:nscd|sss)/.test(call)),
  };
}

const nothing = { executed: [], read: [], changed: [], connected: [] };

interface Counts {
  allowed: number;
  denied: number;
}

function law(world: TrapWorld, isAllowed: IsAllowed, counts: Counts, withRules: boolean) {
  const env = { PATH: process.env['PATH'] ?? '', HOME: `${world.base}/home`, LC_ALL: 'C.UTF-8' };
  return fc.asyncProperty(commandLines(world), async (line) => {
    if (line.includes('\0') || !(await isAllowed(line, world))) {
      counts.denied++;
      return;
    }
    counts.allowed++;
    const traced = traceBash(line, world.root, env);
    expect(traced.executed.length, 'strace recorded nothing').toBeGreaterThan(0);
    expect(violations(line, world, traced)).toEqual(nothing);
    // `git status` compares files with the index by their hash. It does not show them.
    if (!withRules || /\bgit\W+status\b/.test(line)) return;
    expect(traced.read.filter((path) => path.startsWith(`${world.root}/denied/`))).toEqual([]);
  });
}

function requireStrace(context: { skip(reason: string): never }): void {
  if (hasStrace()) return;
  if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error('strace is missing');
  context.skip('strace is missing: npm run test:setup');
}

test.for([
  ['without rules', byPolicy],
  ['with a denied folder', byPolicyWithRules],
] as const)(
  'a line that runs unasked does only what is allowed, %s',
  async ([, isAllowed], context) => {
    requireStrace(context);
    const world = createTrapWorld(temporaryFolder());
    const counts = { allowed: 0, denied: 0 };
    await fc.assert(law(world, isAllowed, counts, isAllowed === byPolicyWithRules), {
      numRuns: runs(1500),
    });
    // Makes sure that the law was checked on many lines of both kinds.
    if (isFull) expect(counts.allowed).toBeGreaterThan(150);
    if (isFull) expect(counts.denied).toBeGreaterThan(300);
  },
);

/** Policies with a hole: what each of them takes a line for. The law must find each of them. */
const holes: Readonly<Record<string, (line: string) => string>> = {
  'ignores `--output=o`': (line) => line.replaceAll('--output=o', ''),
  'ignores redirections to `o`': (line) => line.replaceAll(/[12&]?>[>|&]? ?o/g, ''),
  'takes `..` as text': (line) => line.replaceAll(/(?:sub|in|src)\/\.\.\//g, ''),
  'ignores what is substituted': (line) => line.replaceAll(/"?(?:\$\(touch o\)|`touch o`)"?/g, ''),
  'does not know secrets': (line) => line.replaceAll('.env', 'a.txt'),
};

/**
 * Allows the lines that a policy with a hole allows and the real one does not. The other lines that it
 * allows cannot break the law, as the tests above check, so no process has to be traced for them.
 */
function onlyByHole(takenFor: (line: string) => string): IsAllowed {
  return async (line, world) => {
    const other = takenFor(line);
    return other !== line && (await byPolicy(other, world)) && !(await byPolicy(line, world));
  };
}

test.for(Object.entries(holes))(
  'the law finds a policy that %s',
  // A guard against hangs. Each line is a traced process, and some holes need many lines.
  { timeout: patientMs(900_000) },
  async ([, takenFor], context) => {
    requireStrace(context);
    const world = createTrapWorld(temporaryFolder());
    const counts = { allowed: 0, denied: 0 };
    const found = await fc.check(law(world, onlyByHole(takenFor), counts, false), {
      numRuns: 20_000,
      endOnFailure: true,
    });
    expect(found.failed, `${counts.allowed} lines ran`).toBe(true);
  },
);

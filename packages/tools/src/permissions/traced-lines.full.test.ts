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

// A line that needs no approval must stay within the policy. A traced bash may open, write and execute only
// files that the policy allows without asking.

const rules: readonly PermissionRule[] = [{ path: 'denied/**', decision: 'deny' }];
type IsAllowed = (line: string, world: TrapWorld) => Promise<boolean>;
const byPolicy: IsAllowed = async (line, { root }) => (await commandRuling(root, line)) === 'allow';
const byPolicyWithRules: IsAllowed = async (line, { root }) =>
  (await commandRuling(root, line, { rules })) === 'allow';

/** Returns all actions of a line that a command must not perform without an approval. */
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
      // `git status` updates the cache of file times, and creates its lock file.
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
    // `git status` compares files with the index by their hash. It does not show their content.
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
    // Checks that the test covered many lines of both kinds.
    if (isFull) expect(counts.allowed).toBeGreaterThan(150);
    if (isFull) expect(counts.denied).toBeGreaterThan(300);
  },
);

/**
 * Policies with a hole. Each function converts a line to the harmless line that the policy sees instead. The
 * test must detect each hole.
 */
const holes: Readonly<Record<string, (line: string) => string>> = {
  'ignores `--output=o`': (line) => line.replaceAll('--output=o', ''),
  'ignores redirections to `o`': (line) => line.replaceAll(/[12&]?>[>|&]? ?o/g, ''),
  'takes `..` as text': (line) => line.replaceAll(/(?:sub|in|src)\/\.\.\//g, ''),
  'ignores what is substituted': (line) => line.replaceAll(/"?(?:\$\(touch o\)|`touch o`)"?/g, ''),
  'does not know secrets': (line) => line.replaceAll('.env', 'a.txt'),
};

/**
 * Allows only lines that a policy with a hole allows and the real policy does not. The tests above already
 * check all other lines, so no process has to be traced for them.
 */
function onlyByHole(takenFor: (line: string) => string): IsAllowed {
  return async (line, world) => {
    const other = takenFor(line);
    return other !== line && (await byPolicy(other, world)) && !(await byPolicy(line, world));
  };
}

test.for(Object.entries(holes))(
  'the law finds a policy that %s',
  // This limit only prevents a hang. Each line is a traced process, and some holes need many lines.
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

import { commandOf, type PolicyCall } from './decide.ts';
import type { PermissionPolicy } from './permission-policy.ts';
import type { PermissionRule } from './permission-rule.ts';
import { splitCommand } from './split-command.ts';
import { toolKindOf, toolsOfKind } from './tool-kinds.ts';

/**
 * Suggests a wider rule for a lasting approval: for commands with the same prefix, or for all file
 * changes in the root. Returns undefined if no such rule allows the call, or if it would allow too
 * much.
 */
export function suggestRule(
  policy: PermissionPolicy,
  call: PolicyCall,
): PermissionRule | undefined {
  return widerRules(policy, call).find(
    (rule) => policy.remember(rule).decide(call).decision === 'allow',
  );
}

function widerRules(policy: PermissionPolicy, call: PolicyCall): readonly PermissionRule[] {
  const { tool } = call;
  switch (toolKindOf(tool, policy.kinds)) {
    case 'run':
      return commandPrefixes(commandOf(call) ?? '').map((command) => ({
        ...{ tool, command, decision: 'allow', yields: true },
      }));
    case 'write': {
      const names = toolsOfKind('write', policy.kinds);
      return [{ tool: `{${names.join(',')}}`, path: '**', decision: 'allow', yields: true }];
    }
    default:
      return [];
  }
}

/**
 * Returns a prefix for each command of the line. The caller takes the first one that is enough to
 * allow the whole line.
 */
function commandPrefixes(line: string): readonly string[] {
  const { parts, unsupportedSyntax } = splitCommand(line);
  if (unsupportedSyntax !== undefined) return [];
  return parts.flatMap((words) => {
    if (!words.slice(0, 3).every(({ isPlain }) => isPlain)) return [];
    return commandPrefix(words.map(({ text }) => text))?.join(' ') ?? [];
  });
}

/** Programs and subcommands whose first words determine what they do: `npm test`, `git diff`. */
const knownSubcommands: ReadonlyMap<string, readonly string[]> = new Map([
  ['git', 'status diff log show blame ls-files rev-parse describe add commit'.split(' ')],
  ['npm', ['test', 't']],
  ['pnpm', ['test', 't']],
  ['yarn', ['test']],
  ['bun', ['test']],
  ['deno', ['test', 'check', 'lint', 'fmt']],
  ['cargo', 'build check test clippy fmt doc bench'.split(' ')],
  ['go', ['build', 'test', 'vet']],
  ['dotnet', ['build', 'test']],
  ['swift', ['build', 'test']],
  ['mix', ['test', 'compile', 'format']],
  ['mvn', ['test', 'compile', 'verify']],
  ['gradle', ['test', 'build', 'check']],
  ['./gradlew', ['test', 'build', 'check']],
  ['biome', ['check', 'lint', 'format']],
  ['ruff', ['check', 'format']],
  ['npx', 'tsc eslint prettier biome vitest jest mocha'.split(' ')],
  ['make', 'test tests check lint build all fmt format'.split(' ')],
]);

/** Programs with a single purpose. */
const standalonePrograms: ReadonlySet<string> = new Set(
  'tsc eslint prettier vitest jest mocha pytest mypy pyright black rspec phpunit'.split(' '),
);

const scriptRunners: ReadonlySet<string> = new Set(['npm', 'pnpm', 'yarn', 'bun']);

/**
 * Returns the first words of a command that may stand for all commands that begin with them.
 * Returns undefined for programs that run other programs (shells, interpreters, env, xargs, sudo),
 * that delete or download, and for unknown programs.
 */
function commandPrefix(words: readonly string[]): readonly string[] | undefined {
  const [program = '', verb = '', script = ''] = words;
  if (standalonePrograms.has(program)) return [program];
  if (knownSubcommands.get(program)?.includes(verb)) return [program, verb];
  const isScript = scriptRunners.has(program) && verb === 'run' && /^[\w:.-]+$/.test(script);
  return isScript && !script.startsWith('-') ? [program, verb, script] : undefined;
}

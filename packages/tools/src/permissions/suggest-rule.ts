import { commandOf, type PolicyCall } from './decide.ts';
import type { PermissionPolicy } from './permission-policy.ts';
import type { PermissionRule } from './permission-rule.ts';
import { splitCommand } from './split-command.ts';
import { toolKindOf, toolsOfKind } from './tool-kinds.ts';

/**
 * What a yes that lasts may be about, beside the call itself: commands that begin so, or all changes of
 * files in the root. Nothing where that would not allow the call, or too much.
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

/** One for each command of the line; the one is taken that the rest of it needs no rule beside. */
function commandPrefixes(line: string): readonly string[] {
  const { parts, unsupportedSyntax } = splitCommand(line);
  if (unsupportedSyntax !== undefined) return [];
  return parts.flatMap((words) => {
    if (!words.slice(0, 3).every(({ isPlain }) => isPlain)) return [];
    return commandPrefix(words.map(({ text }) => text))?.join(' ') ?? [];
  });
}

/** Of these the first words say what is done, whatever follows: `npm test`, `git diff`. */
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

/** These do one thing. */
const standalonePrograms: ReadonlySet<string> = new Set(
  'tsc eslint prettier vitest jest mocha pytest mypy pyright black rspec phpunit'.split(' '),
);

const scriptRunners: ReadonlySet<string> = new Set(['npm', 'pnpm', 'yarn', 'bun']);

/**
 * The first words of a command that may stand for all that begin so. None for what runs whatever it is
 * told (a shell, an interpreter, env, xargs, sudo), removes, fetches or is not known.
 */
function commandPrefix(words: readonly string[]): readonly string[] | undefined {
  const [program = '', verb = '', script = ''] = words;
  if (standalonePrograms.has(program)) return [program];
  if (knownSubcommands.get(program)?.includes(verb)) return [program, verb];
  const isScript = scriptRunners.has(program) && verb === 'run' && /^[\w:.-]+$/.test(script);
  return isScript && !script.startsWith('-') ? [program, verb, script] : undefined;
}

import { commandPrefix } from './command-prefix.ts';
import { commandOf, type PolicyCall } from './decide.ts';
import type { PermissionPolicy } from './permission-policy.ts';
import type { PermissionRule } from './permission-rule.ts';
import { splitCommand } from './split-command.ts';
import { kindOf, toolsOf } from './tool-kinds.ts';

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
  switch (kindOf(tool, policy.kinds)) {
    case 'run':
      return prefixes(commandOf(call) ?? '').map((command) => ({
        ...{ tool, command, decision: 'allow', yields: true },
      }));
    case 'write': {
      const names = toolsOf('write', policy.kinds);
      return [{ tool: `{${names.join(',')}}`, path: '**', decision: 'allow', yields: true }];
    }
    default:
      return [];
  }
}

/** One for each command of the line; the one is taken that the rest of it needs no rule beside. */
function prefixes(line: string): readonly string[] {
  const { parts, obstacle } = splitCommand(line);
  if (obstacle !== undefined) return [];
  return parts.flatMap((words) => {
    if (!words.slice(0, 3).every(({ isPlain }) => isPlain)) return [];
    return commandPrefix(words.map(({ text }) => text))?.join(' ') ?? [];
  });
}

import { closedPrefix } from './closed-commands.ts';
import { commandOf, type PolicyCall } from './decide.ts';
import type { PermissionPolicy } from './permission-policy.ts';
import type { PermissionRule } from './permission-rule.ts';
import { splitCommand } from './split-command.ts';
import { toolKindOf, toolsOfKind } from './tool-kinds.ts';

/**
 * Returns a wider rule for a lasting approval. It covers a known command with any of its known arguments,
 * or all file changes in the root. Undefined if no such rule allows the call, or if the rule would allow
 * too much.
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
  const { tool, isRemote } = call;
  switch (toolKindOf(tool, policy.kinds, isRemote)) {
    case 'run':
      return commandPrefixes(commandOf(call) ?? '').map((command) => ({
        ...{ tool, command, decision: 'allow', yields: true },
      }));
    case 'write': {
      // A patch can also delete files, and an approval of all changes does not cover that.
      const names = toolsOfKind('write', policy.kinds).filter((name) => name !== 'apply_patch');
      return [{ tool: `{${names.join(',')}}`, path: '**', decision: 'allow', yields: true }];
    }
    default:
      return [];
  }
}

/**
 * Returns a prefix for each command of the line. The caller uses the first prefix that is enough to allow
 * the whole line.
 */
function commandPrefixes(line: string): readonly string[] {
  const { parts, unsupportedSyntax } = splitCommand(line);
  if (unsupportedSyntax !== undefined) return [];
  return parts.flatMap((words) => {
    const prefix = closedPrefix(words.map(({ text }) => text)) ?? [];
    const isPlain = words.slice(0, prefix.length).every((word) => word.isPlain);
    return isPlain && prefix.length > 0 ? [prefix.join(' ')] : [];
  });
}

import { closedPrefix } from './closed-commands.ts';
import { commandOf, type PolicyCall } from './decide.ts';
import { type PermissionPolicy, permissionPolicy } from './permission-policy.ts';
import type { PermissionRule } from './permission-rule.ts';
import { splitCommand } from './split-command.ts';
import { toolKindOf, toolsOfKind } from './tool-kinds.ts';

/**
 * Returns a wider rule for a standing approval. It covers a known command with all its known arguments, or all
 * file changes in the root. Returns undefined if no wider rule allows the call, or if the rule would allow
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
    case 'write':
      return [allChangesRule(policy)];
    default:
      return [];
  }
}

/** Returns the policy with a rule that allows all changes of files, except those of protected files. */
export function withAllChanges(policy: PermissionPolicy): PermissionPolicy {
  // The rule comes last and yields, so a rule that asks has precedence over it.
  return permissionPolicy({ ...policy, rules: [...policy.rules, allChangesRule(policy)] });
}

/** Returns the rule that allows all changes of files in the root, except those of protected files. */
function allChangesRule({ kinds }: Pick<PermissionPolicy, 'kinds'>): PermissionRule {
  // A patch can also delete files. An approval for all changes does not cover deletions.
  const names = toolsOfKind('write', kinds).filter((name) => name !== 'apply_patch');
  return { tool: `{${names.join(',')}}`, path: '**', decision: 'allow', yields: true };
}

/**
 * Returns a prefix for each command of the line. The caller uses the first prefix whose rule allows the
 * complete line.
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

import { commandOf, type PolicyCall } from '../permissions/decide.ts';
import { changesGit } from '../permissions/read-only/read-only-line.ts';

/**
 * What a command needs in addition to the usual permissions of the sandbox. `git`: it may change the repositories of
 * the workspace. `outside`: it runs outside of the sandbox.
 */
export type MorePermission = 'outside' | 'network' | 'git' | 'network+git';

/**
 * The tool names in rules for commands that need more than the usual permissions of the sandbox. No real tool can
 * have these names. Rules for `bash` or for all tools do not apply to them, except rules that name a git command.
 */
export const sandboxRuleNames: {
  readonly [Permission in MorePermission]: `bash+${Permission}`;
} = {
  ...{ network: 'bash+network', outside: 'bash+outside' },
  ...{ git: 'bash+git', 'network+git': 'bash+network+git' },
};

/**
 * Returns the additional permissions that a call requests. A line in which git does more than read requests `git`
 * also without its field, because it would otherwise fail.
 */
export function asksForMore(call: PolicyCall): MorePermission | undefined {
  const fields = (call.input ?? {}) as {
    readonly outside_sandbox?: unknown;
    readonly network?: unknown;
    readonly change_git?: unknown;
  };
  if (fields.outside_sandbox === true) return 'outside';
  const line = commandOf(call);
  const isGit = fields.change_git === true || (line !== undefined && changesGit(line));
  if (fields.network === true) return isGit ? 'network+git' : 'network';
  return isGit ? 'git' : undefined;
}

/** True if a command with these permissions may change the repositories of the workspace. */
export function mayChangeGit(more: MorePermission | undefined): boolean {
  return more === 'git' || more === 'network+git';
}

/** True if a command with these permissions has access to the network. */
export function mayConnect(more: MorePermission | undefined): boolean {
  return more === 'network' || more === 'network+git';
}

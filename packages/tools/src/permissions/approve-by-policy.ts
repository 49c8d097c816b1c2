import { lstat } from 'node:fs/promises';
import type { Approval, ApprovalDecision, CheckedToolCall } from '@millrace/agent';
import type { ComputerInput, McpApprovalInput } from '@millrace/providers';
import { errorCodeOf } from '../contract/workspace-error.ts';
import { realPathOf } from '../workspace/resolve-path.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { deletesPath, type PolicyCall, pathOf } from './decide.ts';
import type { PermissionPolicy } from './permission-policy.ts';
import type { PermissionRule } from './permission-rule.ts';
import type { ReadOnlyCommand, ReadPath } from './read-only/read-only-command.ts';
import { findReadOnlyRisk } from './read-only/read-only-risk.ts';
import { judgedText, obeyedNameOf } from './repository-protection.ts';
import { standingRuleText } from './standing-rule.ts';
import { suggestRule, withAllChanges } from './suggest-rule.ts';
import { isPathKind, isRemoteTool, type PathKind, toolKindOf } from './tool-kinds.ts';

/** Options of `approveByPolicy`. */
export interface ApproveByPolicyOptions {
  /**
   * The scope of a standing approval (`until`). `exact`: the same command or path. `wide`: commands with the
   * same prefix, or all file changes in the root. If a wide scope would be too broad, `wide` is the same as
   * `exact`. Default: `exact`.
   */
  readonly lasting?: 'exact' | 'wide' | undefined;
}

/**
 * Returns an `approve` function that lets a permission policy decide on the tool calls of an agent.
 *
 * The policy also checks the real path behind symbolic links. The decision applies only to that path
 * (`judged`). If the path leads to a different file when the tool runs, the file tools refuse the call. A
 * standing approval (`run.approve(id, { until })`) covers only that command, path or tool in this folder,
 * unless `lasting` is `wide`.
 *
 * @example createAgent({ provider, tools, approve: approveByPolicy(policy, workspace) });
 */
export function approveByPolicy(
  policy: PermissionPolicy,
  workspace: Pick<Workspace, 'root' | 'resolve'>,
  { lasting = 'exact' }: ApproveByPolicyOptions = {},
): (call: CheckedToolCall) => Promise<ApprovalDecision> {
  const decide = async (
    { tool: called }: CheckedToolCall,
    call: PolicyCall,
  ): Promise<Exclude<ApprovalDecision, string>> => {
    const { input } = call;
    const { decision, reason, readOnlyCommands: readings = [], usedPaths } = policy.decide(call);
    const risk =
      (await firstRisk(readings, policy, workspace)) ??
      (await deniedTarget(usedPaths ?? [], call.tool, policy));
    if (risk !== undefined) return { decision: 'ask', reason: risk, rule: exactRule(policy, call) };
    if (decision !== 'ask') return { decision, reason };
    // A standing approval must not cover safety warnings that the provider reports later.
    if (called.answers === 'openai.computer' && hasSafetyChecks(input))
      return { decision, reason: `${reason}, and the provider sees a danger` };
    if (called.answers === 'openai.mcp_approval')
      return { decision, reason, rule: hostedToolRule(input) };
    if (lasting === 'exact') return { decision, reason, rule: exactRule(policy, call) };
    return { decision, ...(await suggestion(policy, call, reason, workspace)) };
  };
  return async (pending) => {
    const { call, tool: called, input } = pending;
    const named = { tool: call.name, input, isRemote: isRemoteTool(called) };
    const kind = toolKindOf(call.name, policy.kinds, named.isRemote);
    if (!isPathKind(kind)) return decide(pending, named);
    const resolved = await withRealPath(named, kind, workspace.root);
    const ruling = await decide(pending, resolved);
    // The tool refuses the call if the path leads to a different file when the tool runs. `judged` is empty
    // if the real path is unknown.
    const { leadsTo, obeyedName } = resolved;
    return { ...ruling, judged: leadsTo === undefined ? '' : judgedText(leadsTo, obeyedName) };
  };
}

/**
 * Decides whether a file can be changed if all changes in the workspace are allowed. The decision is `ask` for
 * a protected file, or if a rule asks.
 *
 * @example await decideChange('.git/config', policy, workspace); // 'ask'
 */
export async function decideChange(
  path: string,
  policy: PermissionPolicy,
  workspace: Pick<Workspace, 'root'>,
): Promise<Approval> {
  const call = await withRealPath({ tool: 'write', input: { path } }, 'write', workspace.root);
  return call.leadsTo === undefined ? 'ask' : withAllChanges(policy).decide(call).decision;
}

/** Adds what the file system says about the path of a call. */
async function withRealPath(call: PolicyCall, kind: PathKind, root: string): Promise<PolicyCall> {
  const leadsTo = await realPathOfCall(call, root);
  const writes = kind === 'write' && leadsTo !== undefined;
  const obeyedName = writes ? obeyedNameOf(root, leadsTo) : undefined;
  return { ...call, leadsTo, obeyedName };
}

/**
 * Returns the rule for a standing approval, and the reason to ask. For a risky call, the rule covers only
 * this exact call, because the policy asks about a risky call even if a wider rule covers it.
 */
async function suggestion(
  policy: PermissionPolicy,
  call: PolicyCall,
  reason: string,
  workspace: Pick<Workspace, 'root' | 'resolve'>,
): Promise<{ readonly reason: string; readonly rule: string | undefined }> {
  let wide: PermissionRule | undefined;
  try {
    wide = suggestRule(policy, call);
  } catch {
    // The policy already has its maximum number of remembered rules.
    return { reason, rule: undefined };
  }
  if (wide === undefined) return { reason, rule: exactRule(policy, call) };
  const { readOnlyCommands: readings = [] } = policy.remember(wide).decide(call);
  const risk = await firstRisk(readings, policy, workspace);
  if (risk !== undefined) return { reason: risk, rule: exactRule(policy, call) };
  return { reason, rule: standingRuleText(wide, policy.root) };
}

async function firstRisk(
  readings: readonly ReadOnlyCommand[],
  { mayRead }: PermissionPolicy,
  workspace: Pick<Workspace, 'root' | 'resolve'>,
): Promise<string | undefined> {
  for (const command of readings) {
    const risk = await findReadOnlyRisk(command, { workspace, mayRead });
    if (risk !== undefined) return risk;
  }
  return undefined;
}

/** Returns the reason to ask if one of the paths leads to a path that a rule denies. */
async function deniedTarget(
  paths: readonly ReadPath[],
  tool: string,
  policy: PermissionPolicy,
): Promise<string | undefined> {
  for (const used of paths) {
    // A path that cannot be resolved cannot be opened either, so this check accepts it. A path of a process can.
    const found = await realPathOf(policy.root, used.path).catch(errorCodeOf);
    if (found === 'outside') return `${used.path} depends on the process that uses it`;
    if (typeof found === 'string') continue;
    // If a program that expects a file gets a folder, it reads all entries of the folder.
    const isFolder =
      used.mustBeFile && (await lstat(found.real).catch(() => undefined))?.isDirectory();
    const kind = isFolder ? 'search' : used.kind;
    if (!policy.mayReach(tool, { ...used, path: found.real, kind }))
      return `${used.path} leads to a path that a rule denies`;
  }
  return undefined;
}

/**
 * Returns the real path of a call. If the call deletes a link, this is the path of the link itself, because
 * the target stays. Returns undefined for an invalid path. The tool itself then refuses the call.
 */
async function realPathOfCall(call: PolicyCall, root: string): Promise<string | undefined> {
  const path = pathOf(call);
  if (path === undefined) return undefined;
  return realPathOf(root, path, { keepsLink: deletesPath(call) }).then(
    ({ real }) => real,
    () => undefined,
  );
}

function hasSafetyChecks(input: unknown): boolean {
  const { pending_safety_checks: checks = [] } = (input ?? {}) as Partial<ComputerInput>;
  return checks.length > 0;
}

/**
 * Returns the rule text for a standing approval of a tool of a provider's MCP server. It covers one tool of
 * one server. This text is not a rule of the policy, because the policy sees all these tools under the same
 * name.
 */
function hostedToolRule(input: unknown): string | undefined {
  const { server_label: server, name } = (input ?? {}) as Partial<McpApprovalInput>;
  if (typeof server !== 'string' || typeof name !== 'string') return undefined;
  return `the tool ${JSON.stringify(name)} of the MCP server ${JSON.stringify(server)}`;
}

/**
 * Returns the narrowest rule that allows the call: a rule for the path, or for the file behind a link. A
 * standing approval covers later calls with the same rule, so a changed link must not redirect it to a
 * different file. Returns undefined if there is no such rule, or if the input is unclear.
 */
function exactRule(policy: PermissionPolicy, call: PolicyCall): string | undefined {
  try {
    const rule = policy.ruleFor(call, 'allow');
    const behind =
      rule.path === undefined || call.leadsTo === undefined
        ? []
        : [policy.ruleFor({ ...call, input: { path: call.leadsTo } }, 'allow')];
    const isEnough = (one: PermissionRule) =>
      policy.remember(one).decide(call).decision === 'allow';
    const found = [rule, ...behind].find(isEnough);
    return found && standingRuleText(found, policy.root);
  } catch {
    return undefined;
  }
}

import { AgentError, type ApprovalDecision, type CheckedToolCall } from '@millrace/agent';
import type { OptionNames } from '@millrace/core';
import { assertKnownOptions } from '../known-options.ts';
import { approveByPolicy } from '../permissions/approve-by-policy.ts';
import { commandOf, type PolicyCall } from '../permissions/decide.ts';
import { homeProtection, secretProtection } from '../permissions/home-protection.ts';
import { type PermissionPolicy, permissionPolicy } from '../permissions/permission-policy.ts';
import type { PermissionRule } from '../permissions/permission-rule.ts';
import { writeProtection } from '../permissions/protected-paths.ts';
import { splitCommand } from '../permissions/split-command.ts';
import { parseStandingRule } from '../permissions/standing-rule.ts';
import { withAllChanges } from '../permissions/suggest-rule.ts';
import { isFetchKind, isRemoteTool, type ToolKind, toolKindOf } from '../permissions/tool-kinds.ts';
import { isAllowedOnPurpose } from '../sandbox/approve-in-sandbox.ts';
import { asksForMore } from '../sandbox/more-permissions.ts';
import { type CallPlace, callKey, type UnaskedReading } from '../sandbox/unasked-reading.ts';
import { lexicalPath } from '../workspace/match-path.ts';
import type { Workspace } from '../workspace/workspace.ts';

/**
 * A mode decides what an agent does without a question. `plan`: it only reads, and all other calls are
 * refused. `ask`: the policy decides. `accept-edits`: changes of files in the workspace need no approval.
 * `auto`: commands in the sandbox need no approval either. In every mode, files that look like secrets and
 * files that make other programs run code need an approval if a call names them, and rules that deny or ask
 * apply.
 */
export type PermissionMode = 'plan' | 'ask' | 'accept-edits' | 'auto';

type Approve = (call: CheckedToolCall, at: CallPlace) => Promise<ApprovalDecision>;

/** Options of `approveInMode`. */
export interface ApproveInModeOptions {
  /** Returns the current mode. It is called for each call, so a new mode applies to the next call. */
  readonly mode: () => PermissionMode;
  /** Returns the current policy. */
  readonly policy: () => PermissionPolicy;
  readonly workspace: Pick<Workspace, 'root' | 'resolve'>;
  /** The decision in the mode `ask`, for example from `approveByPolicy` or `approveInSandbox`. */
  readonly approve: Approve;
  /**
   * The commands that the sandbox confines to reading. Default: commands run without a sandbox, and the
   * mode `auto` does not allow any command.
   */
  readonly reading?: UnaskedReading | undefined;
}

const optionNames: OptionNames<ApproveInModeOptions> = {
  ...{ mode: true, policy: true, workspace: true, approve: true, reading: true },
};

/** The reason that the model gets if the mode `plan` refuses its call. */
const refusal =
  'The session is in plan mode: no file is changed, and commands may only read. Put this step into your plan. The person decides about the plan';

/**
 * Adds a mode to an `approve` function. The mode can change while the agent runs.
 *
 * @example
 * let mode: PermissionMode = 'plan';
 * const approve = approveInMode({
 *   mode: () => mode,
 *   policy: () => policy,
 *   workspace,
 *   approve: approveByPolicy(policy, workspace),
 * });
 */
export function approveInMode(options: ApproveInModeOptions): Approve {
  assertKnownOptions('approveInMode', options, optionNames);
  const { mode: currentMode, policy: currentPolicy, workspace, approve, reading } = options;
  return async (pending, at) => {
    const ruling = await approve(pending, at);
    const decision = typeof ruling === 'string' ? ruling : ruling.decision;
    const mode = currentMode();
    // A person has answered, so the protection of files ends. The checks below protect them again if the
    // answer does not allow exactly this call.
    if (at.isAnswered) reading?.releaseProtected(callOf(pending), callKey(pending, at));
    if (decision === 'deny' || mode === 'ask') return ruling;
    const policy = currentPolicy();
    const { name } = pending.call;
    const kind = toolKindOf(name, policy.kinds, isRemoteTool(pending.tool));
    switch (mode) {
      case 'plan':
        return (await isReading(kind, pending, { policy, workspace, reading, at }))
          ? ruling
          : { decision: 'deny', reason: refusal };
      case 'accept-edits':
      case 'auto':
        if (decision === 'allow') {
          if (kind !== 'run' || reading === undefined) return ruling;
          return guardPrefixRule(pending, { policy, reading, at }) ? ruling : 'ask';
        }
        if (kind === 'write') return (await allowChange(pending, policy, workspace)) ?? ruling;
        if (kind !== 'run' || reading === undefined) return ruling;
        if (mode === 'auto' && (await mayRunInSandbox(pending, { policy, reading, at })))
          return { decision: 'allow', reason: 'The sandbox confines it, and the mode is auto' };
        return guardStandingRule(pending, ruling, { reading, at }) ? ruling : 'ask';
      default:
        throw new AgentError('bad_option', `Cannot use the mode ${String(mode satisfies never)}`);
    }
  };
}

function callOf({ call, input }: CheckedToolCall): PolicyCall {
  return { tool: call.name, input };
}

interface ReadingContext extends Pick<ApproveInModeOptions, 'workspace' | 'reading'> {
  readonly policy: PermissionPolicy;
  readonly at: CallPlace;
}

/**
 * True if a call only reads. For commands, it ignores the rules that allow, because a user may have allowed a
 * command that changes files.
 */
async function isReading(
  kind: ToolKind,
  pending: CheckedToolCall,
  { policy, workspace, reading, at }: ReadingContext,
): Promise<boolean> {
  if (kind === 'read' || kind === 'search' || isFetchKind(kind) || kind === 'free') return true;
  const call = callOf(pending);
  if (kind !== 'run' || asksForMore(call) !== undefined) return false;
  const isStrict = ({ decision }: PermissionRule) => decision !== 'allow';
  const strict = permissionPolicy({
    ...policy,
    rules: policy.rules.filter(isStrict),
    remembered: policy.remembered.filter(isStrict),
  });
  const ruling = await approveByPolicy(strict, workspace)(pending);
  if ((typeof ruling === 'string' ? ruling : ruling.decision) === 'allow') return true;
  return (await reading?.allow(call, callKey(pending, at))) === true;
}

/** Returns the decision if all changes of files are allowed. Returns undefined if the call still needs an approval. */
async function allowChange(
  pending: CheckedToolCall,
  policy: PermissionPolicy,
  workspace: ApproveInModeOptions['workspace'],
): Promise<ApprovalDecision | undefined> {
  const ruling = await approveByPolicy(withAllChanges(policy), workspace)(pending);
  return typeof ruling !== 'string' && ruling.decision === 'allow' ? ruling : undefined;
}

interface CommandContext {
  readonly policy: PermissionPolicy;
  readonly reading: UnaskedReading;
  readonly at: CallPlace;
}

/**
 * Protects the protected files from a command that a prefix rule allows, such as `npm test`. In these modes
 * the agent can change files without a question, so it can change what the command runs, for example a script
 * of `package.json`. A rule for exactly this line, or for all commands, ends this protection. A hook that
 * allows the call does not end it. Returns false if a user must approve the call.
 */
function guardPrefixRule(
  pending: CheckedToolCall,
  { policy, reading, at }: CommandContext,
): boolean {
  const call = callOf(pending);
  if (asksForMore(call) === 'outside' || isAllowedOnPurpose(policy, call)) return true;
  return reading.guardProtected(call, callKey(pending, at));
}

/**
 * Makes the sandbox protect the protected files from a command that needs an approval. If a person has
 * approved the prefix of the command earlier, for the session, the agent runs the command without a question,
 * as with a prefix rule. The protection is for this case. If a person allows exactly this call, the command
 * runs without the protection. Returns false if no earlier approval may allow the call.
 */
function guardStandingRule(
  pending: CheckedToolCall,
  ruling: ApprovalDecision,
  { reading, at }: Pick<CommandContext, 'reading' | 'at'>,
): boolean {
  const rule = typeof ruling === 'string' ? undefined : ruling.rule;
  const call = callOf(pending);
  if (at.isAnswered || rule === undefined) return true;
  if (parseStandingRule(rule)?.rule.exact === true) return true;
  return reading.guardProtected(call, callKey(pending, at));
}

/**
 * True if a command can run in the sandbox without an approval. A rule that asks, a command that leaves the
 * sandbox, and a word that names a secret or a protected file are reasons to ask. A program can change files
 * that the line does not name, so the sandbox guards the protected files directly in the workspace. If the
 * sandbox cannot hide all paths that a rule denies, the command needs an approval.
 */
async function mayRunInSandbox(
  pending: CheckedToolCall,
  { policy, reading, at }: CommandContext,
): Promise<boolean> {
  const call = callOf(pending);
  const line = commandOf(call);
  if (line === undefined || asksForMore(call) !== undefined) return false;
  const everything = { tool: call.tool, decision: 'allow', yields: true } as const;
  const isAllow = ({ decision }: PermissionRule) => decision === 'allow';
  // If the decision is not `allow` although a rule allows all commands, another rule asks.
  const lenient = permissionPolicy({
    ...policy,
    rules: [everything, ...policy.rules.filter((rule) => !isAllow(rule))],
    remembered: policy.remembered.filter((rule) => !isAllow(rule)),
  });
  if (lenient.decide(call).decision !== 'allow' || namesProtected(line, policy.root)) return false;
  const key = callKey(pending, at);
  if ((await reading.hideDenied(call, key)) !== undefined) return false;
  return reading.guardProtected(call, key);
}

/** Maximum number of different words of a line that are checked. A line with more words needs an approval. */
const maxNames = 5000;
/** Maximum number of characters of these words together. */
const maxLength = 50_000;
/** Maximum number of characters of a path in Linux. Other systems have lower limits. */
const maxPath = 4096;

/**
 * True if a word of a command line names a file that looks like a secret, or a file that makes other programs
 * run code, or if the line has too many different words. Relative paths start at `root`.
 *
 * @example namesProtected('cat .env', '/srv/project'); // true
 */
export function namesProtected(line: string, root: string): boolean {
  const words = splitCommand(line).parts.flatMap((part) => part.map(({ text }) => text));
  // Syntax that the parser does not support hides words, so the whole line is also split at such characters.
  const pieces = [...words, ...line.split(/[\s'"`$(){}<>|&;=:,]+/)];
  const all = pieces.map((word) => word.replace(/^-+\w*=?|^@/, '') || '.');
  const names = [...new Set(all)].filter((name) => name.length <= maxPath);
  // Each check takes time in which nothing can stop the run.
  const length = names.reduce((sum, name) => sum + name.length, 0);
  if (names.length > maxNames || length > maxLength) return true;
  return names.some((name) => {
    const path = lexicalPath(root, name);
    if (secretProtection(path) !== undefined) return true;
    const protection = writeProtection(path.shown) ?? homeProtection(path, 'write');
    // `head` is a program, and `HEAD` is a commit.
    return protection !== undefined && protection.segment !== 'head';
  });
}

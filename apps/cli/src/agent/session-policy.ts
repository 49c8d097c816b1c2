import { realpath } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import type { Approval, ApprovalDecision, CheckedToolCall } from '@millrace/agent';
import {
  approveByPolicy,
  approveInMode,
  approveInSandbox,
  approveUnconfined,
  type CallPlace,
  decideChange,
  judgedPath,
  movedRules,
  namesProtected,
  type PermissionMode,
  type PermissionPolicy,
  type PermissionRule,
  permissionPolicy,
  type ToolKind,
  type UnaskedReading,
  unaskedReading,
  type Workspace,
} from '@millrace/tools';
import { ruleToText } from '../config/rule-text.ts';
import type { SessionMode } from '../contract/config.ts';
import type { Unconfined } from './command-sandbox.ts';

/** A permission policy that can get new rules, and a new mode, while the agent runs. */
export interface SessionPolicy extends FolderDecisions {
  /** Returns the current mode. */
  mode(): SessionMode;
  /** Changes the mode. It applies to the next call. */
  setMode(mode: SessionMode): void;
  remember(rule: PermissionRule, forHowLong: 'session' | 'always'): Promise<void>;
  /** Removes a rule. Matching calls need an approval again, in this session and in later ones. */
  forget(rule: PermissionRule): Promise<void>;
  /** Returns the decisions for a different folder, with the same rules and the same mode. */
  at(place: PolicyPlace): FolderDecisions;
}

/** The decisions about calls in one folder. */
export interface FolderDecisions {
  current(): PermissionPolicy;
  /** Returns the current policy, and the policies of further folders whose denied paths no call may use. */
  policies(): readonly PermissionPolicy[];
  /**
   * Decides which commands can run in the sandbox without an approval. Undefined if there is no
   * sandbox.
   */
  readonly reading: UnaskedReading | undefined;
  /** Decides about a call according to the current rules. */
  approve(call: CheckedToolCall, at: CallPlace): Promise<ApprovalDecision>;
  /**
   * Decides about a call that a hook of the user allows. The decision is the same as with a rule that allows
   * the tool and over which all other rules have precedence. Rules that deny or ask, protected paths and
   * secrets therefore still apply. A command gets the checks of the mode `auto`. A request to the network needs
   * a rule or an approval.
   */
  approveFreely(call: CheckedToolCall, at: CallPlace): Promise<ApprovalDecision>;
  /**
   * Decides about reading a file whose path the user wrote in a message. If the file is outside of the folder, the
   * decision is the same as with a rule that allows this file and over which all other rules have precedence.
   */
  approveNamed(call: CheckedToolCall, at: CallPlace): Promise<ApprovalDecision>;
  /**
   * Decides whether a file can be changed as in the mode `accept-edits`. `ask` means that the file is
   * protected, or that a rule asks. The mode `read-only` denies all changes.
   */
  decideChange(path: string): Promise<Approval>;
}

/** A folder in which tools work. */
interface PolicyPlace {
  readonly workspace: Workspace;
  /** Files that hooks or MCP servers execute. Changing them needs an approval. Default: none. */
  readonly executedFiles?: readonly string[] | undefined;
  /** True if commands run in a sandbox. */
  readonly isConfined: boolean;
  /** True while a command that can change files of the folder runs. Default: nobody knows. */
  readonly isChanging?: (() => boolean) | undefined;
  /**
   * The reason why commands run without a sandbox. Undefined if there is a sandbox, or if the user
   * switched it off.
   */
  readonly unconfined?: Unconfined | undefined;
}

interface SessionPolicyOptions extends PolicyPlace {
  readonly rules: readonly PermissionRule[];
  /** The first mode. Default: `ask`. */
  readonly mode?: SessionMode | undefined;
  /** The host to which `web_search` sends queries. Default: there is no such tool. */
  readonly searchHost?: string | undefined;
  /** Stores a rule for later sessions. */
  readonly saveRule: (rule: PermissionRule) => Promise<void>;
  /** Deletes a stored rule. */
  readonly deleteRule: (rule: PermissionRule) => Promise<void>;
}

export function createSessionPolicy(options: SessionPolicyOptions): SessionPolicy {
  const { workspace, rules, isConfined, saveRule, deleteRule, executedFiles } = options;
  let { mode = 'ask' } = options;
  let policy = permissionPolicy({
    root: workspace.root,
    rules,
    // `task` needs no approval, because the calls of a sub-agent are checked one by one.
    // `read_output` needs none, because it only reads output that exists. `skill` reads only files
    // of a skill that the user trusts.
    kinds: { task: 'free', read_output: 'free', skill: 'free', ...searchKind(options.searchHost) },
    searchesSkipDenied: true,
    searchesSkipAsked: true,
    freeReading: true,
    hidesDenied: isConfined,
    executedFiles,
  });
  const state = { policy: () => policy, mode: () => mode };
  const main = folderDecisions(options, state);
  let lastWrite: Promise<void> = Promise.resolve();
  return {
    ...main,
    mode: () => mode,
    setMode: (next) => {
      mode = next;
    },
    at: (place) => {
      const policyThere = movedPolicy(place);
      return folderDecisions(place, {
        ...state,
        policy: () => policyThere(policy),
        // Commands there can also read this folder.
        elsewhere: () => [main.current()],
      });
    },
    remember: async (rule, forHowLong) => {
      policy = policy.remember(rule);
      if (forHowLong === 'session') return;
      // Writes run one after the other, because each write first reads the file that the previous
      // write stored.
      const keeping = lastWrite.then(() => saveRule(rule));
      lastWrite = keeping.catch(() => {});
      await keeping;
    },
    forget: async (rule) => {
      const without = (all: readonly PermissionRule[]) =>
        all.filter((one) => !isSameRule(one, rule));
      const { rules: known, remembered } = policy;
      policy = permissionPolicy({
        ...policy,
        rules: without(known),
        remembered: without(remembered),
      });
      const dropping = lastWrite.then(() => deleteRule(rule));
      lastWrite = dropping.catch(() => {});
      await dropping;
    },
  };
}

/** Returns a function that returns the same rules for a different folder. */
function movedPolicy({ workspace, executedFiles, isConfined }: PolicyPlace) {
  let last: readonly [from: PermissionPolicy, to: PermissionPolicy] | undefined;
  return (policy: PermissionPolicy): PermissionPolicy => {
    if (last?.[0] === policy) return last[1];
    const there = { root: workspace.root, executedFiles, hidesDenied: isConfined };
    const move = (rules: readonly PermissionRule[]) =>
      movedRules(rules, policy.root, workspace.root, { coversFolder: !isConfined });
    const rules = { rules: move(policy.rules), remembered: move(policy.remembered) };
    last = [policy, permissionPolicy({ ...policy, ...there, ...rules })];
    return last[1];
  };
}

interface PolicyState {
  policy(): PermissionPolicy;
  /** Returns the policies of further folders whose denied paths no call may use. Default: none. */
  elsewhere?(): readonly PermissionPolicy[];
  mode(): SessionMode;
}

function folderDecisions(
  { workspace, isConfined, isChanging, unconfined }: PolicyPlace,
  { policy, mode, elsewhere }: PolicyState,
): FolderDecisions {
  const current = () => withModeRules(policy(), mode());
  const reading = isConfined ? unaskedReading(current, elsewhere, isChanging) : undefined;
  const place = `a command ${isConfined ? 'in the sandbox' : 'without a sandbox'} in ${workspace.root}`;
  const approveWith = (
    use: () => PermissionPolicy,
    // The rules of `withModeRules` decide in the other two modes.
    modeNow = (): PermissionMode => {
      const now = mode();
      return now === 'allow' || now === 'read-only' ? 'ask' : now;
    },
  ): SessionPolicy['approve'] => {
    const byPolicy: SessionPolicy['approve'] = (call) =>
      approveByPolicy(use(), workspace, { lasting: 'wide' })(call);
    const open = unconfined ? approveUnconfined(use, byPolicy, unconfined) : byPolicy;
    const inMode = approveInMode({
      ...{ mode: modeNow, policy: use, workspace, reading },
      approve: reading === undefined ? open : approveInSandbox(use, open, reading),
    });
    return async (call, at) => {
      const ruling = await inMode(call, at);
      if (call.call.name !== commandTool)
        return deniedIn(elsewhere?.() ?? [], call, ruling) ?? ruling;
      // An answer applies only to commands in this folder and with this sandbox. A different process
      // can continue the session in a different folder, or on a system without a sandbox.
      const decided = typeof ruling === 'string' ? { decision: ruling } : ruling;
      return { ...decided, judged: place };
    };
  };
  const approve = approveWith(current);
  const confinedFreely = approveWith(current, () => (mode() === 'plan' ? 'plan' : 'auto'));
  return {
    current,
    policies: () => [current(), ...(elsewhere?.() ?? [])],
    reading,
    approve,
    decideChange: (path) => decideChange(path, current(), workspace),
    approveNamed: async (call, at) => {
      const named = await rulesForNamed(call, workspace.root);
      const use = () => permissionPolicy({ ...policy(), rules: [...named, ...policy().rules] });
      return approveWith(() => withModeRules(use(), mode()))(call, at);
    },
    approveFreely: async (call, at) => {
      // The address or the query could contain secrets.
      if (networkTools.includes(call.name)) return approve(call, at);
      const isCommand = call.name === commandTool;
      if (isCommand && reading !== undefined) return byHook(await confinedFreely(call, at));
      const { command } = (call.input ?? {}) as { readonly command?: unknown };
      const line = typeof command === 'string' ? command : '';
      if (isCommand && namesProtected(line, workspace.root)) return approve(call, at);
      const rule = { tool: call.name, decision: 'allow', yields: true } as const;
      return approveWith(() => withModeRules(policy().remember(rule), mode()))(call, at);
    },
  };
}

/**
 * Returns the decision to deny a call, if its path is in the folder of one of these policies and is denied there.
 * Otherwise the call would use a path that is denied only relative to that folder.
 */
function deniedIn(
  policies: readonly PermissionPolicy[],
  { call, input }: CheckedToolCall,
  ruling: ApprovalDecision,
): ApprovalDecision | undefined {
  const { path: given } = (input ?? {}) as { readonly path?: unknown };
  const judged = typeof ruling === 'string' ? undefined : ruling.judged;
  for (const path of [given, judged && judgedPath(judged)])
    for (const policy of policies) {
      if (typeof path !== 'string' || !isInside(policy.root, path)) continue;
      if (!policy.mayReach(call.name, { path, kind: 'read' }))
        return { decision: 'deny', reason: `${path} is denied by a rule` };
    }
  return undefined;
}

function isInside(folder: string, path: string): boolean {
  return isAbsolute(path) && `${resolve(path)}/`.startsWith(`${folder}/`);
}

/** Returns the rules that allow a call for a file outside of the folder, or none for all other calls. */
async function rulesForNamed(
  { call, input }: CheckedToolCall,
  root: string,
): Promise<readonly PermissionRule[]> {
  const { path } = (input ?? {}) as { readonly path?: unknown };
  if (typeof path !== 'string') return [];
  const named = resolve(root, path);
  const real = await realpath(named).catch(() => undefined);
  if (real === undefined || isInside(root, named) || isInside(root, real)) return [];
  const rule = { tool: call.name, exact: true, decision: 'allow' } as const;
  return [...new Set([named, real])].map((one) => ({ ...rule, path: one }));
}

/** Names the hook as the reason of a decision. */
function byHook(ruling: ApprovalDecision): ApprovalDecision {
  if (typeof ruling === 'string' || ruling.decision !== 'allow') return ruling;
  return { ...ruling, reason: 'A hook of the user allows it, and the sandbox confines it' };
}

/** The tool that runs commands. */
const commandTool = 'bash';
/** The tools that load pages and search for them. */
const networkTools: readonly string[] = ['web_fetch', 'web_search'];

function searchKind(host: string | undefined): Readonly<Record<string, ToolKind>> {
  return host === undefined ? {} : { web_search: `fetch:${host}` };
}

const readOnlyRules: readonly PermissionRule[] = ['write', 'edit', 'bash'].map((tool) => ({
  tool,
  decision: 'deny',
  reason: 'this session is read-only',
}));

/** Returns the policy with the rules of the mode. They come after the configured rules. */
function withModeRules(policy: PermissionPolicy, mode: SessionMode): PermissionPolicy {
  if (mode === 'allow')
    return permissionPolicy({ ...policy, rules: [...policy.rules, { decision: 'allow' }] });
  if (mode !== 'read-only') return policy;
  return permissionPolicy({ ...policy, rules: [...policy.rules, ...readOnlyRules] });
}

function isSameRule(one: PermissionRule, other: PermissionRule): boolean {
  return one.decision === other.decision && ruleToText(one) === ruleToText(other);
}

import type {
  PermissionOption,
  RequestPermissionRequest,
  RequestPermissionResponse,
  ToolCallContent,
} from '@agentclientprotocol/sdk';
import { isJsonObject, type JsonValue } from '@millrace/core';
import { type ChangePreview, judgedPath, type PermissionRule } from '@millrace/tools';
import type { ApprovalDialog, PendingApproval } from '../chat/contract/dialog.ts';
import {
  type ApprovalChoice,
  approvalChoices,
  parseRule,
} from '../chat/dialog/approval-choices.ts';
import { AskedApprovals } from '../chat/dialog/asked-approvals.ts';
import { changesFile, isSamePreview } from '../chat/dialog/change-previews.ts';
import { otherPlace } from '../chat/dialog/dialog-content.ts';
import { RememberedAnswers } from '../chat/dialog/remembered-answers.ts';
import { replaceAllNotes } from '../chat/render/call-body.ts';
import type { Conversation } from '../chat/session/conversation.ts';
import { ruleToText } from '../config/rule-text.ts';
import type { BuiltAgent } from '../contract/agent.ts';
import { revealHidden } from '../text/cells/reveal-hidden.ts';
import {
  absolutePath,
  describeCall,
  factContent,
  fenced,
  fieldsOf,
  previewDiffs,
  textContent,
} from './call-view.ts';

interface PermissionRequestsOptions {
  readonly built: () => BuiltAgent;
  readonly conversation: () => Conversation;
  readonly cwd: string;
  /** Sends the request to the editor. The signal aborts if the answer is no longer needed. */
  readonly request: (
    request: Omit<RequestPermissionRequest, 'sessionId'>,
    signal: AbortSignal,
  ) => Promise<RequestPermissionResponse>;
  /** Shows a question that is not about a call of this session. */
  readonly onAsked: (approval: PendingApproval) => Promise<void>;
  /** Called after a question that is not about a call of this session is answered. */
  readonly onAnswered: (approval: PendingApproval, isAllowed: boolean) => Promise<void>;
  readonly onProblem: (error: unknown) => void;
}

/**
 * The maximum number of times that the user is asked about one call. The question is repeated if
 * the file changed while the user read it.
 */
const maxRepeats = 8;

/**
 * Asks the user of the editor for approvals. It offers the same answers as the terminal. If an
 * answer also allows later calls, the text of the answer contains the rule that it grants.
 */
export class PermissionRequests {
  readonly #options: PermissionRequestsOptions;
  readonly #remembered: RememberedAnswers;
  readonly #asked = new AskedApprovals();

  constructor(options: PermissionRequestsOptions) {
    this.#options = options;
    this.#remembered = new RememberedAnswers(options);
  }

  /** Sends requests for new approvals, and cancels those that were answered elsewhere. */
  update(approvals: readonly PendingApproval[]): void {
    const waiting = approvals.filter(({ form }) => form === undefined);
    this.#asked.update(waiting, (approval, signal) => {
      this.#ask(approval, signal).catch((error: unknown) => {
        if (!signal.aborted) this.#options.onProblem(error);
      });
    });
  }

  async #ask(approval: PendingApproval, signal: AbortSignal): Promise<void> {
    const isForeign = approval.agents !== undefined || approval.isGuardrail === true;
    if (isForeign) await this.#options.onAsked(approval);
    const isAllowed = await this.#decide(approval, signal);
    if (isForeign) await this.#options.onAnswered(approval, isAllowed);
  }

  /** Asks until the answer applies to the change that the user saw. Returns true if the call is allowed. */
  async #decide(approval: PendingApproval, signal: AbortSignal): Promise<boolean> {
    const { conversation } = this.#options;
    for (let repeat = 0; repeat < maxRepeats; repeat++) {
      const preview = await this.#preview(approval);
      const savedRule = this.#remembered.ruleToSave(approval);
      const dialog = this.#dialog(approval, preview, savedRule);
      const choice = await this.#answer(dialog, signal);
      if (signal.aborted) return false;
      if (choice.action === 'deny') {
        await conversation().deny(approval, choice.reason);
        return false;
      }
      const now = changesFile(approval) ? await this.#preview(approval) : preview;
      if (!isSamePreview(preview, now)) continue;
      await this.#approve(approval, choice.action, { savedRule, basis: now?.basis });
      return true;
    }
    await conversation().deny(approval, 'The file changed while the user read its change.');
    return false;
  }

  async #approve(
    approval: PendingApproval,
    action: ApprovalChoice['action'],
    { savedRule, basis }: AnswerDetails,
  ): Promise<void> {
    if (action === 'session') return this.#remembered.approveForSession(approval, basis);
    if (action === 'always' && savedRule !== undefined)
      return this.#remembered.approveAlways(approval, savedRule, basis);
    await this.#options.conversation().approve(approval, { basis });
  }

  #dialog(
    approval: PendingApproval,
    preview: ChangePreview | undefined,
    savedRule: PermissionRule | undefined,
  ): ApprovalDialog {
    const folder = this.#options.conversation().otherFolder;
    const isChild = approval.agents !== undefined;
    const root = folder ?? this.#options.built().policy().root;
    return { type: 'approval', approval, isChild, others: 0, folder, root, preview, savedRule };
  }

  async #preview({
    name: tool,
    input,
    judged,
  }: PendingApproval): Promise<ChangePreview | undefined> {
    return this.#options
      .built()
      .preview({ tool, input }, judged)
      .catch(() => undefined);
  }

  /** Sends one request. If it is cancelled, or its answer is unknown or an error, the call is denied. */
  async #answer(dialog: ApprovalDialog, signal: AbortSignal): Promise<PermissionAnswer> {
    const choices = approvalChoices(dialog).filter(({ action }) => offered.has(action));
    const options = choices.map((choice) => optionOf(choice, dialog));
    const toolCall = toolCallOf(dialog, this.#options.cwd);
    try {
      const { outcome } = await this.#options.request({ toolCall, options }, signal);
      if (outcome.outcome === 'cancelled') return { action: 'deny', reason: cancelled };
      const chosen = choices.find(({ action }) => action === outcome.optionId);
      return chosen ?? { action: 'deny', reason: 'The editor sent an unknown answer.' };
    } catch (error) {
      if (!signal.aborted) this.#options.onProblem(error);
      return { action: 'deny', reason: 'The editor could not ask the user.' };
    }
  }
}

interface AnswerDetails {
  /** The rule that the answer "always" saves. */
  readonly savedRule: PermissionRule | undefined;
  /** The state of the file that the user saw. */
  readonly basis: string | undefined;
}

interface PermissionAnswer {
  readonly action: ApprovalChoice['action'];
  readonly reason?: string | undefined;
}

const cancelled = 'The user cancelled the request.';

/** The answers that the protocol can express. */
const offered: ReadonlySet<ApprovalChoice['action']> = new Set([
  ...(['once', 'session', 'always', 'deny'] as const),
]);

const optionKinds = {
  once: 'allow_once',
  session: 'allow_always',
  always: 'allow_always',
  deny: 'reject_once',
} as const;

/** Returns the option for an answer. An answer that grants a rule contains the exact rule. */
function optionOf({ action, label }: ApprovalChoice, dialog: ApprovalDialog): PermissionOption {
  const { approval, savedRule } = dialog;
  const rule = action === 'always' ? savedRule : parseRule(approval.rule ?? '');
  const isLasting = action === 'session' || action === 'always';
  const text = rule === undefined ? approval.rule : ruleToText(rule);
  const name = isLasting && text !== undefined ? `${label}: ${text}` : label;
  const kind = optionKinds[action as keyof typeof optionKinds];
  return { optionId: action, name: revealHidden(name), kind };
}

/** Describes the call completely, because the user decides by this description. */
function toolCallOf(dialog: ApprovalDialog, cwd: string): RequestPermissionRequest['toolCall'] {
  const { approval, folder } = dialog;
  const { id: toolCallId, name, input, agents } = approval;
  const { title, kind } = describeCall(name, input, folder ?? cwd);
  const { locations } = describeCall(name, withRealPath(approval), folder ?? cwd);
  const asker = approval.isGuardrail ? 'A guardrail asks' : `The sub-agent ${agents?.at(-1)} asks`;
  return {
    ...{ toolCallId, name, kind, locations, status: 'pending' },
    title:
      agents === undefined && !approval.isGuardrail ? title : `${revealHidden(asker)}: ${title}`,
    content: requestContent(dialog, cwd),
    ...(input !== undefined && { rawInput: input }),
  };
}

/**
 * Returns the input of a call with the real path of its file. The call can run in a different folder than the
 * session, for example in the worktree of a sub-agent, and the editor must not show the file of the session.
 */
function withRealPath({ name, input, judged = '' }: PendingApproval): JsonValue | undefined {
  const real = name === 'bash' ? '' : judgedPath(judged);
  return real === '' || !isJsonObject(input) || typeof input['path'] !== 'string'
    ? input
    : { ...input, path: real };
}

function requestContent(dialog: ApprovalDialog, cwd: string): ToolCallContent[] {
  const { approval, preview, folder } = dialog;
  const { name, input, reason } = approval;
  const fields = fieldsOf(input);
  const real = fieldsOf(withRealPath(approval))['path'];
  const given = absolutePath(String(fields['path'] ?? ''), folder ?? cwd);
  const path = typeof real === 'string' ? absolutePath(real, folder ?? cwd) : given;
  const place = otherPlace(dialog);
  const notes = [
    ...(reason === undefined ? [] : [reason]),
    ...(preview?.problem === undefined ? [] : [preview.problem]),
    ...(folder === undefined ? [] : [`It runs in another folder: ${folder}`]),
    ...(place === undefined ? [] : [place]),
    ...(path === given ? [] : [`The path leads to ${path}`]),
    ...(preview?.lineEndings ? [`Changes the line endings: ${preview.lineEndings}`] : []),
  ].map(factContent);
  if (input === undefined)
    return [...notes, textContent('The input of this call is not known, so it cannot be allowed.')];
  const isShown = preview !== undefined && !preview.isCut && preview.diff !== '';
  if (isShown) return [...notes, ...previewDiffs(preview, path)];
  const { content } = describeCall(name, withRealPath(approval), folder ?? cwd);
  const replaced = replaceAllNotes(name, input).map(textContent);
  if (content.length > 0) return [...notes, ...replaced, ...content];
  const { command, description: _description, ...others } = fields;
  if (name === 'bash' && typeof command === 'string') {
    const rest = Object.keys(others).length === 0 ? [] : [JSON.stringify(others)];
    const text = [`$ ${command}`, ...rest].map(revealHidden).join('\n');
    return [...notes, textContent(fenced(text))];
  }
  return [...notes, textContent(fenced(revealHidden(JSON.stringify(input, null, 2))))];
}

import { type PermissionRule, parseStandingRule } from '@millrace/tools';
import { ruleToText } from '../../config/rule-text.ts';
import type {
  ApprovalDialog,
  ChoiceItem,
  ConfirmDialog,
  PendingApproval,
} from '../contract/dialog.ts';

type ApprovalAction = 'once' | 'session' | 'waiting' | 'always' | 'change' | 'deny';

export interface ApprovalChoice extends ChoiceItem {
  readonly action: ApprovalAction;
}

/**
 * Returns the possible answers to an approval. Answers for the session or forever are offered only
 * if there is a rule for them. The last answer denies, and it is initially selected. If the input
 * of the call is unknown, only this answer is offered.
 */
export function approvalChoices({
  approval,
  others,
  savedRule,
  folder,
}: Pick<
  ApprovalDialog,
  'approval' | 'others' | 'savedRule' | 'folder'
>): readonly ApprovalChoice[] {
  const { rule, input } = approval;
  const known = rule === undefined ? undefined : parseRule(rule);
  if (input === undefined) return [denyChoice];
  const choices: readonly (ApprovalChoice | undefined)[] = [
    { action: 'once', label: 'Yes, once', letter: 'y' },
    rule === undefined
      ? undefined
      : {
          action: 'session',
          label: `Yes, and ${ruleScope(known, folder)} in this session`,
          letter: 's',
        },
    others === 0
      ? undefined
      : { action: 'waiting', label: `Yes to all ${others + 1} waiting now`, letter: 'w' },
    savedRule === undefined || folder !== undefined
      ? undefined
      : {
          ...{ action: 'always', label: 'Always, in this folder', letter: 'a' },
          detail: ruleToText(savedRule),
        },
    { action: 'change', label: 'Change the input', letter: 'c' },
    denyChoice,
  ];
  return choices.filter((choice) => choice !== undefined);
}

const denyChoice: ApprovalChoice = {
  ...{ action: 'deny', label: 'No', letter: 'n', detail: 'Enter denies, n with a reason' },
};

/** Describes the calls that an answer for the session allows. */
function ruleScope(rule: PermissionRule | undefined, folder?: string): string {
  if (rule === undefined) return 'similar requests';
  const { command, path, exact, tool, host } = rule;
  if (command !== undefined) return exact ? 'exactly this command' : `all “${command} …”`;
  if (isAllFiles(rule)) return `all file changes in ${folder ?? 'this folder'}`;
  if (path !== undefined) return exact ? 'exactly this path' : path;
  if (host !== undefined) return `${tool ?? 'all tools'} from ${host}`;
  return tool === undefined ? 'similar requests' : `${tool} with any input`;
}

function isAllFiles({ path, exact }: PermissionRule): boolean {
  return path === '**' && !exact;
}

/**
 * Returns the rule for the answer "always". A rule for all files becomes a rule for only the
 * requested path. Other rules stay the same.
 */
export function alwaysRule(
  rule: PermissionRule,
  { name: tool, input }: Pick<PendingApproval, 'name' | 'input'>,
): PermissionRule | undefined {
  if (!isAllFiles(rule)) return rule;
  const { path } = (input ?? {}) as { readonly path?: unknown };
  return typeof path === 'string' ? { tool, path, exact: true, decision: 'allow' } : undefined;
}

/**
 * Parses a rule in the text form of the permission policy. Returns undefined if the text is not a
 * rule.
 */
export function parseRule(text: string): PermissionRule | undefined {
  return parseStandingRule(text)?.rule;
}

/** Returns the answers of a confirmation. Initially, "No, go back" is selected. */
export function confirmChoices({ yes }: ConfirmDialog): readonly ChoiceItem[] {
  return [
    { label: yes, letter: 'y' },
    { label: 'No, go back', letter: 'n' },
  ];
}

/**
 * Returns the confirmation for an answer for the session. It shows the rule that the answer grants.
 */
export function confirmSession({ approval, folder }: ApprovalDialog): ConfirmDialog {
  const { rule = '' } = approval;
  const known = parseRule(rule);
  return {
    type: 'confirm',
    title: 'Run it, and allow this rule until the session ends?',
    rule: known === undefined ? rule : ruleToText(known),
    scope: ruleScope(known, folder),
    requests: [],
    yes: 'Yes, allow this rule in this session',
  };
}

/** Returns the confirmation for the answer "always". It shows the rule exactly as it is saved. */
export function confirmAlways(rule: PermissionRule): ConfirmDialog {
  return {
    type: 'confirm',
    title: 'Run it, and save this rule for this folder?',
    rule: ruleToText(rule),
    scope: ruleScope(rule),
    requests: [],
    yes: 'Yes, save this rule',
  };
}

/**
 * Returns the confirmation for an answer to several calls. It shows all `requests`. `waiting` is
 * the number of all waiting calls. If it is higher, the user is asked about the other calls later.
 */
export function confirmWaiting(
  requests: readonly ApprovalDialog[],
  waiting: number,
): ConfirmDialog {
  const count = requests.length;
  const title =
    count === waiting
      ? `Allow all ${count}?`
      : `Allow these ${count}? ${waiting - count} more for the same file later`;
  const yes = count === waiting ? `Yes, run all ${count}` : `Yes, run these ${count}`;
  return { type: 'confirm', title, requests, yes };
}

/** Returns the confirmation for a changed input. It shows the changed call. */
export function confirmChanged(request: ApprovalDialog): ConfirmDialog {
  return {
    type: 'confirm',
    title: 'Run it with this input?',
    requests: [request],
    yes: 'Yes, once',
  };
}

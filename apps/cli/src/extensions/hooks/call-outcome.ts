import type { ApprovalDecision } from '@millrace/agent';
import { type CallPlace, judgedPath } from '@millrace/tools';
import type { HookOutcome } from '../hook-runner.ts';
import { realPathOf } from './hook-paths.ts';

/** The decisions of the hooks about a call. */
export interface CallOutcome extends HookOutcome {
  /** The real path that the hooks got, if the call has a path. */
  readonly real?: string | undefined;
}

/** A call for which the hooks run. */
export interface CheckedPlace {
  readonly at: CallPlace;
  readonly root: string | undefined;
  /** The hook that does not run. Default: none. */
  readonly except?: string | undefined;
}

/** The reason to ask if a hook allows a different input. */
export const otherInput =
  'A hook allows this call only with a changed input, which an answer to a question cannot give it';

/**
 * Denies a call if the decision of the policy is about a different file than the hooks got. A link of the path can
 * change between the two. The tool works only on the file of the decision.
 */
export async function onSameFile(
  deciding: Promise<ApprovalDecision>,
  hooks: Promise<CallOutcome>,
): Promise<ApprovalDecision> {
  const [ruling, { real }] = await Promise.all([deciding, hooks]);
  if (typeof ruling === 'string' || ruling.decision === 'deny') return ruling;
  const { judged } = ruling as { readonly judged?: string };
  const path = judgedPath(judged ?? '');
  const isSame = real === undefined || path === '' || realPathOf(path) === real;
  return isSame ? ruling : { decision: 'deny', reason: otherFile };
}

const otherFile =
  'A link of the path has changed, so the hooks checked a different file. Nothing was done. Make the call again';

import type { Attempt, ItemId } from '@millrace/core';
import { createProvider, type ModelRequest, type Provider } from '@millrace/providers';
import type { ApprovalDecision, ResolvedStep, Settings } from '../contract/settings.ts';
import type { Tool } from '../contract/tool.ts';
import type { Playback } from './playback.ts';

/** A request that the agent would send in a replay. */
export interface CapturedRequest extends Attempt {
  /** The name of the agent that drives the session at this moment. */
  readonly agent: string;
  /** The item to which the response is written. */
  readonly itemId: ItemId;
  /** The provider that the agent would send the request to. */
  readonly provider: Provider;
  readonly request: ModelRequest;
}

/** Makes a replay build complete requests, with the current instructions, tools and filters of the agent. */
export interface RequestCapture {
  /** `today`: the agent's own policy decides about calls. `recorded`: the recording has the decisions. */
  readonly policy: 'today' | 'recorded';
  /** Ends the replay, which then rejects with the reason of the signal. Default: never. */
  readonly signal?: AbortSignal | undefined;
  onRequest(captured: CapturedRequest): void;
}

interface CaptureOptions {
  /** The settings of the agent that is tested. */
  readonly settings: Settings;
  readonly playback: Playback;
  readonly capture: RequestCapture;
  /** Replaces the code of a tool with the recorded results. */
  readonly replayTool: (tool: Tool) => Tool;
  /** Returns the recorded providers of a turn. */
  readonly providersOf: (turn: number) => readonly Provider[];
}

/**
 * Returns the settings of a replay that builds the requests as the agent builds them today. A normal replay
 * does not call the functions of the agent, so its requests are incomplete.
 */
export function withCapture(played: Settings, options: CaptureOptions): Settings {
  const { settings, playback, capture, replayTool, providersOf } = options;
  const { instructions, approve, prepareStep, stepTools } = settings;
  const listen = (recorded: readonly Provider[], today: readonly Provider[]) =>
    listeningProviders(recorded, today, options);
  const prepare: Settings['prepareStep'] = async (step, active): Promise<ResolvedStep> => {
    const { providers } = settings;
    const today = await playback.hold(async () => prepareStep?.(step, { ...active, providers }));
    const chosen = listen(providersOf(step.turn), today?.providers ?? providers);
    return { ...today, providers: chosen };
  };
  return {
    ...played,
    providers: listen(played.providers, settings.providers),
    instructions:
      typeof instructions === 'function'
        ? (items, step) => playback.hold(() => instructions(items, step))
        : instructions,
    contextFilters: settings.contextFilters,
    stepTools: stepTools.map(
      (toolsOf) => async (step) =>
        (await playback.hold(() => toolsOf(step))).map((tool) => replayTool(tool)),
    ),
    prepareStep: played.prepareStep && prepare,
    approve:
      capture.policy === 'recorded'
        ? played.approve
        : async (call, step) => {
            // The decision happens at the same place as in the recording.
            const recorded = await played.approve(call, step);
            if (step.isAnswered && isOfGuardrail(recorded)) return recorded;
            return playback.hold(() => approve(call, step));
          },
  };
}

/**
 * Returns true if a guardrail denied the call, because it does not pass the input that a user changed. Only the
 * reason of the denial is on the log, so the replayed guardrail passes.
 */
function isOfGuardrail(decision: ApprovalDecision): boolean {
  return typeof decision !== 'string' && /^the guardrail /.test(decision.reason ?? '');
}

/**
 * Returns the recorded providers, which report each request. The list is as long as the agent's list is today,
 * because the loop behaves differently if it has more or fewer fallbacks.
 */
function listeningProviders(
  recorded: readonly Provider[],
  today: readonly Provider[],
  { settings, capture }: CaptureOptions,
): readonly Provider[] {
  // A retry without a delay looks like a fallback on the log. The recorded list then has a provider twice.
  const isAmbiguous = settings.retry.baseDelayMs === 0;
  let index = 0;
  const listening = recorded.flatMap((replayed, at) => {
    const before = recorded[at - 1];
    const isAgain = before?.id === replayed.id && before.model === replayed.model;
    if (before !== undefined && !(isAmbiguous && isAgain)) index++;
    const provider = today[index];
    if (provider === undefined) return [];
    const stream: Provider['stream'] = (request, context) => {
      const { id: itemId, turn, attempt } = context.item;
      capture.onRequest({ turn, attempt, agent: settings.name, itemId, provider, request });
      return replayed.stream(request, context);
    };
    // The id of a replayed provider can change with the turn, so it is inherited and not copied.
    return [Object.create(replayed, { stream: { value: stream } }) as Provider];
  });
  const unused = isAmbiguous ? [] : today.slice(index + 1);
  return [...listening, ...unused.map(() => createProvider('nobody', 'none', noStream))];
}

function noStream(): never {
  throw new Error('The recording has no answer of this provider');
}

import type { AgentWork, RequestWork, ToolWork, TracedRun, TracedSpan } from './contract.ts';

/** A span with known work. */
export type SpanOf<Work> = TracedSpan & { readonly work: Work };

/** A request of a run, with the name of the agent that sent it. */
export interface PlannedRequest {
  readonly span: SpanOf<RequestWork>;
  readonly agent: string | undefined;
}

/** A run of another program, which becomes a session. Its lists are in the order of their start. */
export interface PlannedRun extends TracedRun {
  readonly startMs: number;
  readonly endMs: number;
  readonly error: TracedSpan['error'];
  /** False if the span of the run has not ended. */
  readonly isEnded: boolean;
  readonly requests: readonly PlannedRequest[];
  readonly tools: readonly SpanOf<ToolWork>[];
  /** The span of the tool that ran this run as a sub-agent. Undefined for a run of its own. */
  readonly tool: string | undefined;
}

/** The place of a span in its trace: the run that it belongs to, and what surrounds it. */
interface Place {
  /** The key of the run. Undefined above all work with models. */
  readonly run: string | undefined;
  readonly agent: string | undefined;
  /** True for spans below a request, because some programs report the same request in several layers. */
  readonly isInRequest: boolean;
  /** The outermost span above, which can be missing. Undefined if there is none. */
  readonly top: string | undefined;
}

const nowhere: Place = { run: undefined, agent: undefined, isInRequest: false, top: undefined };

/**
 * Assigns the spans of a trace to runs. The outermost agent is a run, with all requests, tools and agents below it.
 * The work below a tool is a run of its own, the run of a sub-agent. Requests without an agent belong to one run if
 * they have the same outermost span. Parents can be missing. A run of a sub-agent comes before the run that started
 * it. `isComplete` is false if the outermost span of the trace has not ended.
 */
export function planRuns(spans: readonly TracedSpan[], isComplete: boolean): readonly PlannedRun[] {
  const known = new Map(spans.map((span) => [span.id, span]));
  const places = new Map<string, Place>();
  const drafts = new Map<string, RunDraft>();
  const sorted = [...known.values()].sort((a, b) => a.startMs - b.startMs || a.endMs - b.endMs);
  for (const span of sorted) {
    const { work } = span;
    if (work.type === 'other') continue;
    const above = placeBelow(span.parent, known, places);
    const key = above.run ?? runKeyOf(span, above);
    const draft = drafts.get(key) ?? { key, requests: [], tools: [], agents: [] };
    drafts.set(key, draft);
    if (work.type === 'agent') draft.agents.push({ ...span, work });
    else if (work.type === 'tool') draft.tools.push({ ...span, work });
    else if (!above.isInRequest)
      draft.requests.push({ span: { ...span, work }, agent: above.agent });
  }
  const runs = [...drafts.values()].flatMap((draft) => planRun(draft, known, isComplete) ?? []);
  return runs.sort((a, b) => depthOf(b, known) - depthOf(a, known) || a.startMs - b.startMs);
}

interface RunDraft {
  readonly key: string;
  readonly requests: PlannedRequest[];
  readonly tools: SpanOf<ToolWork>[];
  readonly agents: SpanOf<AgentWork>[];
}

const [agentPrefix, toolPrefix, groupPrefix] = ['agent ', 'tool ', 'group '];

function runKeyOf({ id, parent, work }: TracedSpan, { top }: Place): string {
  return work.type === 'agent' ? `${agentPrefix}${id}` : `${groupPrefix}${top ?? parent ?? id}`;
}

/** Returns the place of the children of a span. It walks up once for each span, and ends if parents form a circle. */
function placeBelow(
  id: string | undefined,
  known: ReadonlyMap<string, TracedSpan>,
  places: Map<string, Place>,
): Place {
  const path: TracedSpan[] = [];
  const visited = new Set<string>();
  let span = id === undefined ? undefined : known.get(id);
  while (span !== undefined && !places.has(span.id) && !visited.has(span.id)) {
    path.push(span);
    visited.add(span.id);
    span = span.parent === undefined ? undefined : known.get(span.parent);
  }
  let place = (span && places.get(span.id)) ?? nowhere;
  for (const one of path.reverse()) {
    place = below(one, place);
    places.set(one.id, place);
  }
  return place;
}

function below(span: TracedSpan, above: Place): Place {
  const { work, id, parent } = span;
  switch (work.type) {
    case 'agent':
      return { ...above, run: above.run ?? runKeyOf(span, above), agent: work.name ?? above.agent };
    case 'tool':
      return { ...nowhere, run: `${toolPrefix}${id}` };
    case 'request':
      return { ...above, run: above.run ?? runKeyOf(span, above), isInRequest: true };
    case 'other':
      return { ...above, top: above.top ?? parent ?? id };
  }
}

/** Returns undefined if there is nothing to show: no agent and no request. */
function planRun(
  draft: RunDraft,
  known: ReadonlyMap<string, TracedSpan>,
  isComplete: boolean,
): PlannedRun | undefined {
  const { key, requests, tools, agents } = draft;
  const first = agents[0] ?? requests[0]?.span;
  if (first === undefined) return undefined;
  const tool = key.startsWith(toolPrefix) ? key.slice(toolPrefix.length) : undefined;
  const id = key.slice(key.indexOf(' ') + 1);
  // The span of a group is the parent of the requests in it. This span can be missing.
  const own = tool === undefined ? known.get(id) : known.get(first.id);
  const all = [...agents, ...tools, ...requests.map(({ span }) => span)];
  const startMs = Math.min(own?.startMs ?? first.startMs, ...all.map((one) => one.startMs));
  const endMs = Math.max(own?.endMs ?? first.endMs, ...all.map((one) => one.endMs));
  return {
    ...{ trace: first.trace, span: own?.id ?? id, startMs, endMs, error: own?.error },
    agent: agents.find(({ work }) => work.name !== undefined)?.work.name,
    conversation: agents.find(({ work }) => work.conversation !== undefined)?.work.conversation,
    ...{ isEnded: isComplete || own !== undefined, requests, tools, tool },
  };
}

/** Returns the number of tools around a run. */
function depthOf({ tool }: PlannedRun, known: ReadonlyMap<string, TracedSpan>): number {
  let depth = 0;
  const visited = new Set<string>();
  for (let span = tool === undefined ? undefined : known.get(tool); span !== undefined; ) {
    if (visited.has(span.id)) break;
    visited.add(span.id);
    if (span.work.type === 'tool') depth++;
    span = span.parent === undefined ? undefined : known.get(span.parent);
  }
  return depth;
}

import {
  type FilePart,
  type FoldState,
  type ItemState,
  type MediaPart,
  type PartSlot,
  type ToolResultPart,
  toArray,
  toBase64,
} from '@millrace/core';
import { openPart } from '../../messages/part-content.ts';
import type { OutputItem } from './response-resource.ts';
import { optionsIn, outputId } from './response-starts.ts';
import { contentOf, textContent } from './response-view.ts';

/** The items of a session, for each state. A client that reads page after page needs them again. */
const itemsOfStates = new WeakMap<FoldState, Map<string, readonly OutputItem[]>>();

/**
 * Returns the items of a whole session, in the format of the Conversations API. A part of the assistant has
 * the same id as in the response that contains it.
 */
export function conversationItems(state: FoldState, agent: string): readonly OutputItem[] {
  const byAgent = itemsOfStates.get(state) ?? new Map<string, readonly OutputItem[]>();
  itemsOfStates.set(state, byAgent);
  const items = byAgent.get(agent) ?? convertItems(state, agent);
  byAgent.set(agent, items);
  return items;
}

function convertItems(state: FoldState, agent: string): readonly OutputItem[] {
  const { session } = state;
  const all = toArray(state.items);
  const results = resultsOf(all);
  let callerTools: ReadonlySet<string> = new Set();
  return all.flatMap((item): readonly OutputItem[] => {
    const { kind, parts } = item;
    if (kind === 'tool') return outputsOf(parts, callerTools);
    if (kind === 'assistant')
      return parts.flatMap((slot) => assistantItem(slot, { state, agent, results, callerTools }));
    if (kind !== 'user' && kind !== 'system' && kind !== 'developer') return [];
    if (kind === 'user') {
      const { tools = [] } = optionsIn(item.metadata).caller;
      callerTools = new Set(tools.map(({ name }) => name));
    }
    const id = outputId('message', session, item.id);
    const head = { id, type: 'message', role: kind, status: 'completed' };
    return [
      {
        ...head,
        // A list converts only the files of the items on its page.
        get content() {
          return inputOf(parts);
        },
      },
    ];
  });
}

type Results = ReadonlyMap<string, ToolResultPart>;

function resultsOf(items: readonly ItemState[]): Results {
  const results = items.flatMap(({ parts }) =>
    parts.flatMap(({ part }) => (part?.kind === 'tool_result' ? [part] : [])),
  );
  return new Map(results.map((part) => [part.toolCallId, part]));
}

interface Around {
  readonly state: FoldState;
  readonly agent: string;
  readonly results: Results;
  readonly callerTools: ReadonlySet<string>;
}

function assistantItem(
  slot: PartSlot,
  { state, agent, results, callerTools }: Around,
): readonly OutputItem[] {
  const part = slot.part ?? openPart(state, slot.id);
  if (part === undefined) return [];
  const idOf = (kind: Parameters<typeof outputId>[0]) => outputId(kind, state.session, slot.id);
  const isOpen = slot.part === undefined;
  const status = isOpen ? 'in_progress' : part.partial === true ? 'incomplete' : 'completed';
  const text = contentOf(part);
  switch (part.kind) {
    case 'text':
    case 'structured': {
      const content = [textContent(text)];
      return [{ id: idOf('message'), type: 'message', role: 'assistant', status, content }];
    }
    case 'reasoning': {
      const summary = [{ type: 'summary_text', text }];
      return [{ id: idOf('reasoning'), type: 'reasoning', summary }];
    }
    case 'tool_call': {
      const { toolCallId: call_id, name } = part;
      const call = { name, arguments: text };
      if (callerTools.has(name))
        return [{ id: idOf('function_call'), type: 'function_call', status, call_id, ...call }];
      const result = results.get(call_id);
      const isFailed = result?.isError === true;
      const state = isFailed ? 'failed' : result === undefined ? 'in_progress' : 'completed';
      return [
        {
          ...{
            id: idOf('mcp_call'),
            type: 'mcp_call',
            server_label: agent,
            status: state,
            ...call,
          },
          output: isFailed ? null : (result?.text ?? null),
          error: isFailed ? result.text : null,
        },
      ];
    }
    default:
      return [];
  }
}

/** Returns the outputs of the tools of the caller. A call of the agent contains its own output. */
function outputsOf(
  parts: readonly PartSlot[],
  callerTools: ReadonlySet<string>,
): readonly OutputItem[] {
  return parts.flatMap(({ id, part }) => {
    if (part?.kind !== 'tool_result' || !callerTools.has(part.name)) return [];
    const { toolCallId: call_id, text: output } = part;
    const type = 'function_call_output';
    return [{ id: `fco_${id}`, type, status: 'completed', call_id, output }];
  });
}

function inputOf(parts: readonly PartSlot[]): readonly object[] {
  return parts.flatMap(({ part }) => {
    if (part?.kind === 'text') return [{ type: 'input_text', text: part.text }];
    return part?.kind === 'media' || part?.kind === 'file' ? [fileOf(part)] : [];
  });
}

function fileOf(part: MediaPart | FilePart): object {
  const { source, mimeType } = part;
  const isImage = mimeType.startsWith('image/');
  const filename = part.kind === 'file' ? { filename: part.name } : {};
  const url =
    source.type === 'url'
      ? source.url
      : source.type === 'bytes'
        ? `data:${mimeType};base64,${toBase64(source.bytes)}`
        : undefined;
  if (isImage)
    return { type: 'input_image', detail: 'auto', image_url: url ?? null, file_id: null };
  if (source.type === 'url') return { type: 'input_file', file_url: url, ...filename };
  return { type: 'input_file', ...(url !== undefined && { file_data: url }), ...filename };
}

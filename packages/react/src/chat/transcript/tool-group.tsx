import type { PartId } from '@millrace/core';
import { useCallback, useId } from 'react';
import { CheckIcon, ChevronIcon } from '../../design/icons.tsx';
import { useLabels } from '../../labels/use-labels.ts';
import { VisibleText } from '../content/visible-text.tsx';
import { type ChatSource, findResult, useSourceValue } from '../state/chat-source.ts';
import { useUnfolded } from '../state/use-unfolded.ts';
import { callStatusIn } from '../tool/call-status.tsx';
import { callsText } from '../tool/calls-text.ts';
import { handoffTarget } from '../tool/handoff.ts';
import { PartView } from './part-view.tsx';
import './tool-group.css';

/** Minimum number of quiet calls that are combined in one row. */
const minQuiet = 3;

interface ToolGroupProps {
  readonly source: ChatSource;
  /** The ids of consecutive tool calls in a turn. */
  readonly ids: readonly PartId[];
}

/**
 * Shows consecutive tool calls of a turn. Many successful calls become one row, which the user can
 * open. Calls that run, ask, failed or have media are always visible.
 */
export function ToolGroup({ source, ids }: ToolGroupProps) {
  const t = useLabels();
  const key = ids.join(' ');
  // A text with one character for each call. The component renders only if this text changes.
  const loudness = useSourceValue(
    source,
    useCallback(
      (from: ChatSource) =>
        key
          .split(' ')
          .map((id) => (isQuiet(from, id as PartId) ? 'q' : 'l'))
          .join(''),
      [key],
    ),
  );
  const [isUnfolded, setUnfolded] = useUnfolded(source, `group ${ids[0]}`, false);
  const listId = useId();
  const quiet = ids.filter((_, at) => loudness[at] === 'q');
  const hasRow = quiet.length >= minQuiet;
  const shown = hasRow && !isUnfolded ? ids.filter((_, at) => loudness[at] === 'l') : ids;
  return (
    <div className="tool-group">
      {hasRow && (
        <button
          type="button"
          className="tool-group-head"
          aria-expanded={isUnfolded}
          aria-controls={listId}
          onClick={() => setUnfolded(!isUnfolded)}
        >
          <CheckIcon />
          <span className="tool-group-text">
            <VisibleText
              text={callsText(
                quiet.map((id) => nameOf(source, id)),
                t,
              )}
            />
          </span>
          <span className="fold-mark" data-open={isUnfolded || undefined}>
            <ChevronIcon />
          </span>
        </button>
      )}
      <div className="tool-group-calls" id={listId}>
        {shown.map((id) => (
          <PartView key={id} source={source} id={id} />
        ))}
      </div>
    </div>
  );
}

/**
 * Groups the parts of an item. Consecutive tool calls form one group. Each part of any other kind is a
 * group by itself.
 */
export function groupParts(
  source: ChatSource,
  ids: readonly PartId[],
): readonly (PartId | readonly PartId[])[] {
  const groups: (PartId | PartId[])[] = [];
  for (const id of ids) {
    const last = groups.at(-1);
    if (source.part(id)?.kind !== 'tool_call') groups.push(id);
    else if (Array.isArray(last)) last.push(id);
    else groups.push([id]);
  }
  return groups;
}

/** Returns true if a call succeeded and has no content that the user must see immediately. */
function isQuiet(source: ChatSource, id: PartId): boolean {
  const part = source.part(id);
  if (part?.kind !== 'tool_call' || source.state.open.some((open) => open.id === id)) return false;
  const { toolCallId, name } = part;
  if (callStatusIn(source, toolCallId, false) !== 'done') return false;
  if (source.facts.call(toolCallId)?.child !== undefined) return false;
  const resultId = findResult(source.state, toolCallId);
  const result = resultId === undefined ? undefined : source.part(resultId);
  const hasMedia = result?.kind === 'tool_result' && (result.attachments?.length ?? 0) > 0;
  return !hasMedia && handoffTarget(name, result) === undefined;
}

function nameOf(source: ChatSource, id: PartId): string {
  const part = source.part(id);
  return part?.kind === 'tool_call' ? part.name : '';
}

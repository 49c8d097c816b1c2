import type { Attachment } from '@millrace/client';
import type { ItemId } from '@millrace/core';
import { createContext, memo, useContext, useLayoutEffect, useRef, useState } from 'react';
import type { Labels } from '../../labels/labels.ts';
import { useLabels } from '../../labels/use-labels.ts';
import { LoadFailure } from '../../on-demand/lazy-view.tsx';
import { onDemand } from '../../on-demand/on-demand.ts';
import { type ChatSource, type ItemHead, useItemHead } from '../state/chat-source.ts';
import { useUnfolded } from '../state/use-unfolded.ts';
import { PartView } from './part-view.tsx';
import { groupParts, ToolGroup } from './tool-group.tsx';
import './item-view.css';
import { IconButton } from '../../design/button.tsx';
import { EditIcon, RetryIcon } from '../../design/icons.tsx';
import { clockTime, TimeText } from '../../design/time.tsx';
import { CopyButton } from '../../markdown/copy-button.tsx';
import { BranchSwitch, useItemActions } from '../branch/branch-switch.tsx';
import { Attachments, attachmentsIn } from '../composer/attachments.tsx';

// The message stays visible until the form is loaded, so that the row keeps its height.
const editForm = onDemand(() => import('../branch/edit-form.tsx'));

/**
 * The function that keeps the row of an item mounted and in its place, even when it is out of sight.
 * It returns a function that ends this. Default: all rows are always mounted.
 */
export const KeepRow = createContext<(id: ItemId) => () => void>(() => () => {});

/** The properties of `ItemView`. */
export interface ItemViewProps {
  readonly source: ChatSource;
  readonly id: ItemId;
}

/**
 * Shows one item. It renders when the item gets a new part or ends, but not while a part streams.
 */
export const ItemView = memo(function ItemView({ source, id }: ItemViewProps) {
  const t = useLabels();
  const item = useItemHead(source, id);
  if (item === undefined) return null;
  if (item.redacted) return <p className="item-note">{t.contentRemoved}</p>;
  switch (item.kind) {
    case 'user':
      return <UserItem source={source} item={item} />;
    case 'assistant':
      return <AssistantItem source={source} item={item} />;
    case 'notification':
      return <Aside source={source} item={item} title={t.note} isUnfolded />;
    case 'system':
    case 'developer':
      return <Aside source={source} item={item} title={t.instructions} />;
    case 'context':
      return <Aside source={source} item={item} title={contextTitle(item, t)} />;
    case 'tool':
      return null;
  }
});

/**
 * Returns the title of a context item. Such an item is a summary from a compaction, or an input
 * that a guardrail changed.
 */
function contextTitle({ metadata }: ItemHead, t: Labels): string {
  const isChange = metadata?.['guardrail'] === true;
  return isChange ? t.modelGotInstead : t.summaryOfEarlier;
}

interface AsideProps {
  readonly source: ChatSource;
  readonly item: ItemHead;
  readonly title: string;
  readonly isUnfolded?: boolean;
}

function Aside({ source, item, title, isUnfolded }: AsideProps) {
  return (
    <details className="item-aside" open={isUnfolded}>
      <summary>{title}</summary>
      {item.partIds.map((id) => (
        <PartView key={id} source={source} id={id} />
      ))}
    </details>
  );
}

/** A message of the user. */
function UserItem({ source, item }: { readonly source: ChatSource; readonly item: ItemHead }) {
  const t = useLabels();
  const actions = useItemActions();
  const unreadFiles = namedFiles(source, item);
  // The state is stored outside of the row, because rows are unmounted while the user scrolls.
  const [isEditing, setEditing] = useUnfolded(source, `edit ${item.id}`, false);
  const { edit } = actions;
  const editButton = useRef<HTMLButtonElement>(null);
  const keepRow = useContext(KeepRow);
  useLayoutEffect(() => (isEditing ? keepRow(item.id) : undefined), [isEditing, keepRow, item.id]);
  const [hasFailed, setFailed] = useState(false);
  const { EditForm } = editForm.useLoaded(isEditing && !hasFailed, () => setFailed(true)) ?? {};
  if (isEditing && edit !== undefined && EditForm !== undefined)
    return (
      <article className="item" data-kind="user" aria-label={t.yourMessage}>
        <EditForm
          draftKey={`edit ${source.id} ${item.id}`}
          text={itemText(source, item)}
          hasFiles={filesOf(source, item).length > 0}
          onClose={() => {
            setEditing(false);
            // The edit button appears again in the next render, so the focus moves after that
            // render.
            setTimeout(() => editButton.current?.focus());
          }}
          onSend={async (text) => {
            await edit(item.id, text, filesOf(source, item));
            setEditing(false);
          }}
        />
      </article>
    );
  return (
    <article className="item" data-kind="user" aria-label={t.yourMessage}>
      <div className="user-bubble">
        {item.partIds.map((id) => (
          <PartView key={id} source={source} id={id} />
        ))}
        <Attachments files={unreadFiles} />
      </div>
      <footer className="item-foot">
        <BranchSwitch itemId={item.id} />
        <span className="item-actions">
          <CopyButton text={itemText(source, item)} />
          {edit && (
            <IconButton
              ref={editButton}
              size="small"
              label={t.editInBranch}
              onClick={() => setEditing(true)}
            >
              <EditIcon />
            </IconButton>
          )}
        </span>
        {item.startedAt !== undefined && <TimeText at={item.startedAt} format={clockTime} />}
      </footer>
      {hasFailed && <LoadFailure onRetry={() => setFailed(false)} />}
    </article>
  );
}

/** The text and tool calls of the agent in one turn. */
function AssistantItem({ source, item }: { readonly source: ChatSource; readonly item: ItemHead }) {
  const t = useLabels();
  const actions = useItemActions();
  // Text before tool calls is not the final answer, so it has no action buttons.
  const isAnswer = !item.isOpen && item.stop?.reason !== 'tool_use';
  const text = isAnswer ? itemText(source, item) : '';
  return (
    <article
      className="item"
      data-kind="assistant"
      aria-label={item.author?.name ?? t.agentMessage}
      aria-busy={item.isOpen}
    >
      {item.isOpen && <span className="item-flow" aria-hidden="true" />}
      <div className="item-parts">
        {groupParts(source, item.partIds).map((part) =>
          typeof part === 'string' ? (
            <PartView key={part} source={source} id={part} />
          ) : (
            <ToolGroup key={part[0]} source={source} ids={part} />
          ),
        )}
      </div>
      {text !== '' && (
        <footer className="item-foot">
          <BranchSwitch itemId={item.id} />
          <span className="item-actions">
            <CopyButton text={text} label={t.copyTheAnswer} />
            {actions.regenerate && (
              <IconButton
                size="small"
                label={t.answerAgain}
                onClick={() => actions.regenerate?.(item.id)}
              >
                <RetryIcon />
              </IconButton>
            )}
          </span>
        </footer>
      )}
    </article>
  );
}

/**
 * Returns the files in the metadata of a message. Only messages to handlers have them. A message to
 * an agent loop has a part for each file, and that part shows the content.
 */
function namedFiles(source: ChatSource, { partIds }: ItemHead): readonly Attachment[] {
  const parts = partIds.map((id) => source.part(id));
  if (parts.some((part) => part?.kind === 'file' || part?.kind === 'media')) return [];
  return parts.flatMap((part) => attachmentsIn(part?.metadata?.['attachments']));
}

/** Returns the uploaded files of a message in the form in which a new message lists them. */
function filesOf(source: ChatSource, item: ItemHead): readonly Attachment[] {
  const parts = item.partIds.map((id) => source.part(id));
  const uploaded = parts.flatMap((part): readonly Attachment[] => {
    const file_id = part?.metadata?.['file_id'];
    if (part?.kind !== 'file' || part.source.type !== 'blob') return [];
    if (typeof file_id !== 'string') return [];
    return [{ file_id, name: part.name, type: part.mimeType, size: part.source.length }];
  });
  return uploaded.length > 0 ? uploaded : namedFiles(source, item);
}

/** Returns the text of an item, without reasoning and tool calls. */
function itemText(source: ChatSource, { partIds }: ItemHead): string {
  const parts = partIds.map((id) => source.part(id));
  const texts = parts.map((part) => (part?.kind === 'text' ? part.text : ''));
  return texts.filter((text) => text !== '').join('\n\n');
}

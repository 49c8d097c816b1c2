import type { ItemId } from '@millrace/core';
import { memo } from 'react';
import type { ChatSource } from '../state/chat-source.ts';
import { type ItemHead, useItemHead } from '../state/use-source.ts';
import { AssistantItem } from './assistant-item.tsx';
import { PartView } from './part-view.tsx';
import { UserItem } from './user-item.tsx';
import './item-view.css';

export interface ItemViewProps {
  readonly source: ChatSource;
  readonly id: ItemId;
}

/** One item. It renders when a part comes or the item ends, and not while something streams in it. */
export const ItemView = memo(function ItemView({ source, id }: ItemViewProps) {
  const item = useItemHead(source, id);
  if (item === undefined) return null;
  if (item.redacted) return <p className="item-note">The content of this item was removed.</p>;
  switch (item.kind) {
    case 'user':
      return <UserItem source={source} item={item} />;
    case 'assistant':
      return <AssistantItem source={source} item={item} />;
    case 'notification':
      return <Aside source={source} item={item} title="Note" isUnfolded />;
    case 'system':
    case 'developer':
      return <Aside source={source} item={item} title="Instructions" />;
    case 'context':
      return <Aside source={source} item={item} title="Summary of what came before" />;
    case 'tool':
      return null;
  }
});

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

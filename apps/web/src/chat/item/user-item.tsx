import { IconButton } from '../../design/button.tsx';
import { EditIcon } from '../../design/icons.tsx';
import { clockTime } from '../../design/time.ts';
import { TimeText } from '../../design/time-text.tsx';
import { CopyButton } from '../../markdown/copy-button.tsx';
import type { ChatSource } from '../state/chat-source.ts';
import { useItemActions } from '../state/item-actions.ts';
import type { ItemHead } from '../state/use-source.ts';
import { BranchSwitch } from './branch-switch.tsx';
import { PartView } from './part-view.tsx';
import { textOf } from './text-of.ts';

/** What somebody said. */
export function UserItem({
  source,
  item,
}: {
  readonly source: ChatSource;
  readonly item: ItemHead;
}) {
  const actions = useItemActions();
  return (
    <article className="item" data-kind="user" aria-label="You said">
      <div className="user-bubble">
        {item.partIds.map((id) => (
          <PartView key={id} source={source} id={id} />
        ))}
      </div>
      <footer className="item-foot">
        <BranchSwitch itemId={item.id} />
        <span className="item-actions">
          <CopyButton text={textOf(source, item)} />
          {actions.edit && (
            <IconButton
              size="small"
              label="Say something else here, in a branch"
              onClick={() => actions.edit?.(item.id, textOf(source, item))}
            >
              <EditIcon />
            </IconButton>
          )}
        </span>
        {item.startedAt !== undefined && <TimeText at={item.startedAt} format={clockTime} />}
      </footer>
    </article>
  );
}

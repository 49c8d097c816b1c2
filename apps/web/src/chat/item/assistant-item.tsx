import { IconButton } from '../../design/button.tsx';
import { RetryIcon } from '../../design/icons.tsx';
import { CopyButton } from '../../markdown/copy-button.tsx';
import type { ChatSource } from '../state/chat-source.ts';
import { useItemActions } from '../state/item-actions.ts';
import type { ItemHead } from '../state/use-source.ts';
import { BranchSwitch } from './branch-switch.tsx';
import { PartView } from './part-view.tsx';
import { textOf } from './text-of.ts';

/** What the agent said and did in one turn. */
export function AssistantItem({
  source,
  item,
}: {
  readonly source: ChatSource;
  readonly item: ItemHead;
}) {
  const actions = useItemActions();
  // What was said on the way to the answer is not worth a row of buttons.
  const isAnswer = !item.isOpen && item.stop?.reason !== 'tool_use';
  const text = isAnswer ? textOf(source, item) : '';
  return (
    <article
      className="item"
      data-kind="assistant"
      aria-label={item.author?.name ?? 'The agent said'}
      aria-busy={item.isOpen}
    >
      <div className="item-parts">
        {item.partIds.map((id) => (
          <PartView key={id} source={source} id={id} />
        ))}
      </div>
      {text !== '' && (
        <footer className="item-foot">
          <BranchSwitch itemId={item.id} />
          <span className="item-actions">
            <CopyButton text={text} label="Copy the answer" />
            {actions.regenerate && (
              <IconButton
                size="small"
                label="Answer again, in a branch"
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

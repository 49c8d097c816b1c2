import { memo, type ReactNode, useRef } from 'react';
import { Virtualizer } from 'virtua';
import { Button } from '../design/button.tsx';
import { DownIcon } from '../design/icons.tsx';
import { ItemView } from './item/item-view.tsx';
import { NoticeView } from './item/notice-view.tsx';
import { type Row, useRows } from './rows.ts';
import type { ChatSource } from './state/chat-source.ts';
import { useStickyEnd } from './use-sticky-end.ts';
import './transcript-view.css';

export interface TranscriptViewProps {
  readonly source: ChatSource;
  /** How often something was said here: whoever says something wants to see the answer. */
  readonly sent?: number | undefined;
  /** What is said where nothing was; nothing unless told. */
  readonly emptyWords?: string | undefined;
  /** What comes after all that was said. */
  readonly children?: ReactNode;
}

/** All that was said, of which only what is in sight is in the page. */
export function TranscriptView({ source, sent = 0, emptyWords, children }: TranscriptViewProps) {
  const scroller = useRef<HTMLElement>(null);
  const rows = useRows(source);
  const { isAtEnd, goToEnd } = useStickyEnd(scroller, `${source.id} ${sent}`);
  return (
    <div className="transcript-frame">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys */}
      <section className="transcript" ref={scroller} aria-label="Conversation" tabIndex={0}>
        {rows.length === 0 && <p className="transcript-empty">{emptyWords}</p>}
        <div className="transcript-rows">
          <Virtualizer
            scrollRef={scroller}
            data={rows}
            startMargin={startMarginPx}
            bufferSize={600}
          >
            {(row) => <RowView key={row.key} row={row} source={source} />}
          </Virtualizer>
          {children}
        </div>
      </section>
      {!isAtEnd && (
        <div className="to-end">
          <Button size="small" onClick={goToEnd}>
            <DownIcon /> To the end
          </Button>
        </div>
      )}
    </div>
  );
}

/** The padding above the rows, as the style has it. */
const startMarginPx = 24;

interface RowViewProps {
  readonly row: Row;
  readonly source: ChatSource;
}

const RowView = memo(function RowView({ row, source }: RowViewProps) {
  return (
    <div className="transcript-row">
      {row.type === 'item' ? (
        <ItemView source={source} id={row.id} />
      ) : (
        <NoticeView notice={row.notice} />
      )}
    </div>
  );
});

import type { Labels } from '../labels/labels.ts';
import { useLabels } from '../labels/use-labels.ts';
import { type ComparedMoments, CompareView } from './compare/compare-view.tsx';
import { SpanDetail } from './detail/span-detail.tsx';
import type { SessionModel } from './model/session-model.ts';
import type { ReadRequest } from './records/record-detail.tsx';
import { RecordsPanel } from './records/records-panel.tsx';
import type { TreeNode } from './tree/tree-nodes.ts';

/**
 * The content of the detail pane: the selected span, the records, or a comparison of two moments.
 */
export type DetailTab = 'span' | 'records' | 'compare';

const tabNames = [
  ['span', 'span'],
  ['records', 'records'],
  ['compare', 'compare'],
] as const satisfies readonly (readonly [DetailTab, keyof Labels])[];

interface InspectorSideProps {
  readonly model: SessionModel;
  readonly count: number;
  readonly index: number;
  /** The offset of the selected record. */
  readonly offset: number;
  readonly node: TreeNode | undefined;
  readonly tab: DetailTab;
  readonly onTab: (tab: DetailTab) => void;
  readonly moments: ComparedMoments;
  readonly onMoments: (moments: ComparedMoments) => void;
  readonly readRequest: ReadRequest;
  readonly onShowInChat: ((offset: number) => void) | undefined;
  readonly onZoom: (node: TreeNode) => void;
  readonly onOffset: (offset: number | undefined) => void;
}

/** The detail pane next to the tree. */
export function InspectorSide(props: InspectorSideProps) {
  const t = useLabels();
  const { model, count, index, offset, node, tab, onTab, moments, readRequest, onOffset } = props;
  return (
    <section className="inspector-side" aria-label={t.details}>
      <div className="tabs" role="tablist" aria-label={t.details}>
        {tabNames.map(([name, title]) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`inspector-tab-${name}`}
            aria-selected={tab === name}
            aria-controls="inspector-tabpanel"
            onClick={() => onTab(name)}
          >
            {t[title]}
          </button>
        ))}
      </div>
      {/* A pane without buttons must be focusable, so that the user can scroll it with the keyboard. */}
      <div
        className="tabpanel"
        role="tabpanel"
        id="inspector-tabpanel"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls the pane
        tabIndex={0}
        aria-labelledby={`inspector-tab-${tab}`}
      >
        {tab === 'span' && (
          <SpanDetail
            key={node?.id}
            {...{ node, model, readRequest }}
            onShowInChat={props.onShowInChat}
            onZoom={props.onZoom}
            onRecords={(to) => {
              onTab('records');
              onOffset(to);
            }}
          />
        )}
        {tab === 'records' && (
          <RecordsPanel
            {...{ model, count, index, readRequest }}
            onIndex={(to) => onOffset(model.records[to]?.offset)}
          />
        )}
        {tab === 'compare' && (
          <CompareView {...{ model, offset, moments, onOffset }} onMoments={props.onMoments} />
        )}
      </div>
    </section>
  );
}

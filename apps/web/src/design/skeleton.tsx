import './skeleton.css';

/** The width of a bar: `short` and `middle` are parts of a line, `block` is as high as a card. */
export type BarSize = 'short' | 'middle' | 'full' | 'block';

export interface SkeletonProps {
  /** What is loading, for screen readers: `Loading the sessions`. */
  readonly label: string;
  /** The bars, from top to bottom. Default: three lines of text. */
  readonly bars?: readonly BarSize[];
}

const lines: readonly BarSize[] = ['short', 'full', 'middle'];

/** Bars that keep the place of content while it loads. */
export function Skeleton({ label, bars = lines }: SkeletonProps) {
  return (
    <div className="skeleton" role="status">
      <span className="unseen">{label}</span>
      {bars.map((size, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the bars never change their order
        <span key={at} className="skeleton-bar" data-size={size} />
      ))}
    </div>
  );
}

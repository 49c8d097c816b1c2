import './skeleton.css';

/**
 * The size of a bar. `short` and `middle` are narrower than a line. `block` is as high as a card.
 */
type BarSize = 'short' | 'middle' | 'full' | 'block';

/** The properties of `Skeleton`. */
export interface SkeletonProps {
  /** The label for screen readers, for example `Loading the sessions`. */
  readonly label: string;
  /** The bars, from top to bottom. Default: three lines of text. */
  readonly bars?: readonly BarSize[];
}

const lines: readonly BarSize[] = ['short', 'full', 'middle'];

/** Placeholder bars in the place of content that is still loading. */
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

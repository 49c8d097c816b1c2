import { Button } from '../../design/button.tsx';

export interface MoreBarProps {
  /** How often more was asked for. */
  readonly level: number;
  readonly onLevel: (level: number) => void;
  /** What the next press shows; undefined where all is shown. */
  readonly next: string | undefined;
}

/** Shows more of what is long, and less again. */
export function MoreBar({ level, onLevel, next }: MoreBarProps) {
  if (level === 0 && next === undefined) return null;
  return (
    <div className="more-bar">
      {next !== undefined && (
        <Button size="small" look="quiet" onClick={() => onLevel(level + 1)}>
          {next}
        </Button>
      )}
      {level > 0 && (
        <Button size="small" look="quiet" onClick={() => onLevel(0)}>
          Show less
        </Button>
      )}
    </div>
  );
}

export { conformanceCases } from './cases.ts';
export { ConformanceError } from './check.ts';
export type {
  ConformanceAnswer,
  ConformanceCall,
  ConformanceCase,
  ConformanceLack,
  ConformanceSubject,
} from './subject.ts';

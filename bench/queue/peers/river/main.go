// River as a peer: jobs in PostgreSQL, run by a process in Go.
//
//	river prepare
//	river enqueue KIND COUNT            by InsertManyFast, 10,000 at a time; prints the seconds
//	river work KIND COUNT               until so many are done; prints the seconds, from the first job on
//	river latency COUNT MILLISECONDS    one job each so many milliseconds; prints microseconds from commit to start, a line each
//
// The connection is that of libpq's variables. KIND is nothing, or insert: a row in the transaction that completes the job.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type NothingArgs struct{}

func (NothingArgs) Kind() string { return "nothing" }

type InsertArgs struct {
	Number int `json:"number"`
}

func (InsertArgs) Kind() string { return "insert" }

type TimedArgs struct {
	Number int `json:"number"`
}

func (TimedArgs) Kind() string { return "timed" }

// How many are done, and since when.
type counter struct {
	atomic.Int64
	once  sync.Once
	begun time.Time
}

func (c *counter) begin() {
	c.once.Do(func() { c.begun = time.Now() })
}

type nothingWorker struct {
	river.WorkerDefaults[NothingArgs]
	done *counter
}

func (w *nothingWorker) Work(ctx context.Context, job *river.Job[NothingArgs]) error {
	w.done.begin()
	w.done.Add(1)
	return nil
}

type insertWorker struct {
	river.WorkerDefaults[InsertArgs]
	done *counter
	pool *pgxpool.Pool
}

// A row, and the job's completion with it, in one transaction: as River's documentation has it.
func (w *insertWorker) Work(ctx context.Context, job *river.Job[InsertArgs]) error {
	w.done.begin()
	tx, err := w.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if _, err := tx.Exec(ctx, "insert into ran values ($1)", job.Args.Number); err != nil {
		return err
	}
	if _, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	w.done.Add(1)
	return nil
}

type timedWorker struct {
	river.WorkerDefaults[TimedArgs]
	begun *sync.Map
}

func (w *timedWorker) Work(ctx context.Context, job *river.Job[TimedArgs]) error {
	w.begun.Store(job.Args.Number, time.Now())
	return nil
}

// Found by trying: more and fewer are slower on two cores.
const workers = 200

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func number(place int) int {
	value, err := strconv.Atoi(os.Args[place])
	must(err)
	return value
}

func main() {
	ctx := context.Background()
	config, err := pgxpool.ParseConfig("")
	must(err)
	config.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(ctx, config)
	must(err)
	defer pool.Close()
	switch os.Args[1] {
	case "prepare":
		migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
		must(err)
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
		must(err)
	case "enqueue":
		enqueue(ctx, pool, os.Args[2], number(3))
	case "work":
		work(ctx, pool, number(3))
	case "latency":
		latency(ctx, pool, number(2), number(3))
	}
}

func enqueue(ctx context.Context, pool *pgxpool.Pool, kind string, count int) {
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{})
	must(err)
	begun := time.Now()
	for first := 0; first < count; first += 10000 {
		var jobs []river.InsertManyParams
		for place := first; place < min(first+10000, count); place++ {
			if kind == "insert" {
				jobs = append(jobs, river.InsertManyParams{Args: InsertArgs{Number: place}})
			} else {
				jobs = append(jobs, river.InsertManyParams{Args: NothingArgs{}})
			}
		}
		_, err := client.InsertManyFast(ctx, jobs)
		must(err)
	}
	fmt.Println(time.Since(begun).Seconds())
}

func work(ctx context.Context, pool *pgxpool.Pool, count int) {
	var done counter
	all := river.NewWorkers()
	river.AddWorker(all, &nothingWorker{done: &done})
	river.AddWorker(all, &insertWorker{done: &done, pool: pool})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown: time.Millisecond,
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		Workers:       all,
	})
	must(err)
	must(client.Start(ctx))
	for done.Load() < int64(count) {
		time.Sleep(5 * time.Millisecond)
	}
	// Completions are written in batches.
	for left := 1; left > 0; {
		row := pool.QueryRow(ctx, "select count(*) from (select from river_job where state <> 'completed' limit 1) s")
		must(row.Scan(&left))
		if left > 0 {
			time.Sleep(5 * time.Millisecond)
		}
	}
	fmt.Println(time.Since(done.begun).Seconds())
	must(client.Stop(ctx))
}

func latency(ctx context.Context, pool *pgxpool.Pool, count int, milliseconds int) {
	begun := &sync.Map{}
	all := river.NewWorkers()
	river.AddWorker(all, &timedWorker{begun: begun})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown: time.Millisecond,
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 100}},
		Workers:       all,
	})
	must(err)
	must(client.Start(ctx))
	time.Sleep(time.Second)
	committed := make([]time.Time, count)
	for place := range count {
		tx, err := pool.BeginTx(ctx, pgx.TxOptions{})
		must(err)
		_, err = client.InsertTx(ctx, tx, TimedArgs{Number: place}, nil)
		must(err)
		must(tx.Commit(ctx))
		committed[place] = time.Now()
		time.Sleep(time.Duration(milliseconds) * time.Millisecond)
	}
	time.Sleep(2 * time.Second)
	for place := range count {
		start, found := begun.Load(place)
		if !found {
			must(fmt.Errorf("job %d has not run", place))
		}
		fmt.Println(start.(time.Time).Sub(committed[place]).Microseconds())
	}
	must(client.Stop(ctx))
}

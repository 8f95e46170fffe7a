package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The bounds of a package of over five files: of how many files stand above one another, and
// how many others a file names on average. Packages that are read with ease keep them: bridgev2
// of mautrix has 10 and 5.4, ipnlocal of Tailscale 9 and 3.1.
const (
	mostFloors = 10
	mostArrows = 5.5
)

type density struct {
	floors int
	arrows float64
}

// TestNoPackageIsTooDense counts how the files of a package use one another. Names are matched
// as text; a method counts if only one file declares one of its name.
func TestNoPackageIsTooDense(t *testing.T) {
	for dir, names := range packages(t) {
		var files []*ast.File
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		if len(files) <= 5 {
			continue
		}
		if got := densityOf(files); got.floors > mostFloors || got.arrows > mostArrows {
			t.Errorf("%s has %d floors and %.2f arrows a file, more than %d and %.2f: cut it where its stories part", dir, got.floors, got.arrows, mostFloors, mostArrows)
		}
	}
}

func densityOf(files []*ast.File) density {
	arrows := uses(files)
	n := 0
	for _, to := range arrows {
		n += len(to)
	}
	return density{floors(arrange(arrows), arrows), float64(n) / float64(len(files))}
}

// uses is, for each file, the files that declare what it names.
func uses(files []*ast.File) []map[int]bool {
	top, methods := map[string]int{}, map[string][]int{}
	for i, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					methods[d.Name.Name] = append(methods[d.Name.Name], i)
				} else if d.Name.Name != "init" {
					top[d.Name.Name] = i
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						top[s.Name.Name] = i
					case *ast.ValueSpec:
						for _, n := range s.Names {
							top[n.Name] = i
						}
					}
				}
			}
		}
	}
	arrows := make([]map[int]bool, len(files))
	for i, f := range files {
		to := map[int]bool{}
		imported := map[string]bool{}
		for _, s := range f.Imports {
			p := strings.Trim(s.Path.Value, `"`)
			imported[p[strings.LastIndex(p, "/")+1:]] = true
			if s.Name != nil {
				imported[s.Name.Name] = true
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && imported[x.Name] && x.Obj == nil {
					return false
				}
				if in := methods[n.Sel.Name]; len(in) == 1 && in[0] != i {
					to[in[0]] = true
				}
				ast.Inspect(n.X, func(m ast.Node) bool { return name(m, top, i, to) })
				return true
			case *ast.Ident:
				name(n, top, i, to)
			}
			return true
		})
		arrows[i] = to
	}
	return arrows
}

func name(n ast.Node, top map[string]int, i int, to map[int]bool) bool {
	id, ok := n.(*ast.Ident)
	if !ok {
		return true
	}
	if id.Obj != nil && id.Obj.Kind != ast.Bad {
		if _, local := id.Obj.Decl.(ast.Node); local { // declared in this file
			return true
		}
	}
	if j, ok := top[id.Name]; ok && j != i {
		to[j] = true
	}
	return true
}

// arrange orders the files, users first, so that few arrows run back up: the greedy
// heuristic of Eades, Lin and Smyth (1993), then swaps of neighbours.
func arrange(arrows []map[int]bool) []int {
	n := len(arrows)
	left := map[int]bool{}
	for i := range n {
		left[i] = true
	}
	degree := func(i int) (in, out int) {
		for j := range left {
			if arrows[j][i] {
				in++
			}
			if arrows[i][j] {
				out++
			}
		}
		return
	}
	var first, last []int
	for len(left) > 0 {
		keys := slices.Sorted(maps.Keys(left))
		best, score, taken := -1, -1<<30, false
		for _, i := range keys {
			in, out := degree(i)
			if out == 0 {
				last, taken = append([]int{i}, last...), true
				delete(left, i)
				break
			}
			if in == 0 {
				first, taken = append(first, i), true
				delete(left, i)
				break
			}
			if out-in > score {
				best, score = i, out-in
			}
		}
		if !taken {
			first = append(first, best)
			delete(left, best)
		}
	}
	order := append(first, last...)
	for changed := true; changed; {
		changed = false
		for k := 0; k+1 < n; k++ {
			a, b := order[k], order[k+1]
			if arrows[b][a] && !arrows[a][b] {
				order[k], order[k+1], changed = b, a, true
			}
		}
	}
	return order
}

// floors is the height of the stack of files in this order; what runs back up does not count.
func floors(order []int, arrows []map[int]bool) (most int) {
	place, height := map[int]int{}, map[int]int{}
	for k, i := range order {
		place[i] = k
	}
	for k, i := range slices.Backward(order) {
		height[i] = 1
		for j := range arrows[i] {
			if place[j] > k {
				height[i] = max(height[i], height[j]+1)
			}
		}
		most = max(most, height[i])
	}
	return most
}

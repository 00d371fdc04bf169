package host

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Parameter is a key of the configuration, for people.
type Parameter struct{ Name, Default, Meaning string }

// Settings are the parameters of a protocol. Declare names each once, with the place for its value, its default and its
// meaning:
//
//	type settings struct {
//		retries uint32
//		mode    string
//	}
//
//	func (s *settings) Declare(p *host.Parameters) {
//		p.Uint32(&s.retries, "retries", 3, "how often a request is sent again")
//		p.OneOf(&s.mode, "mode", []string{"safe", "fast"}, "what to prefer")
//	}
//
// Init reads them, host.Read(&r.settings, config), and About lists them, host.Listed(&settings{}).
type Settings interface{ Declare(p *Parameters) }

// Parameters is the configuration that was given, and what the protocol asked of it. The first error is kept.
type Parameters struct {
	given map[string]string
	asked []Parameter
	err   error
}

// Read gives every parameter its value, or its default. The error names the key that is unknown or has a value that does not fit.
func Read(settings Settings, config map[string]string) error {
	p := Parameters{given: config}
	settings.Declare(&p)
	names := make([]string, len(p.asked))
	for i, parameter := range p.asked {
		names[i] = parameter.Name
	}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if p.err == nil && !slices.Contains(names, key) {
			known := strings.Join(names, ", ")
			if known == "" {
				known = "none"
			}
			p.err = fmt.Errorf("there is no parameter %s; known are: %s", key, known)
		}
	}
	return p.err
}

// Listed returns the parameters in the order in which they are declared.
func Listed(settings Settings) []Parameter {
	p := Parameters{}
	settings.Declare(&p)
	return p.asked
}

// Uint32 declares a number.
func (p *Parameters) Uint32(at *uint32, name string, value uint32, meaning string) {
	*at = value
	if text, given := p.ask(name, strconv.FormatUint(uint64(value), 10), meaning); given {
		parsed, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			p.Reject(name, fmt.Sprintf("it is a whole number from 0 to %d", ^uint32(0)))
		}
		*at = uint32(parsed)
	}
}

// Bool declares a parameter that is true or false.
func (p *Parameters) Bool(at *bool, name string, value bool, meaning string) {
	*at = value
	if text, given := p.ask(name, strconv.FormatBool(value), meaning); given {
		if text != "true" && text != "false" {
			p.Reject(name, "it is true or false")
		}
		*at = text == "true"
	}
}

// String declares a text.
func (p *Parameters) String(at *string, name string, value string, meaning string) {
	*at = value
	if text, given := p.ask(name, value, meaning); given {
		*at = text
	}
}

// OneOf declares a parameter that is one of a few words; the first is the default.
func (p *Parameters) OneOf(at *string, name string, words []string, meaning string) {
	list := strings.Join(words, ", ")
	*at = words[0]
	if text, given := p.ask(name, words[0], fmt.Sprintf("%s (one of %s)", meaning, list)); given {
		if !slices.Contains(words, text) {
			p.Reject(name, "it is one of "+list)
		}
		*at = text
	}
}

// Reject refuses the value of a parameter, such as more proposers than nodes.
func (p *Parameters) Reject(name, reason string) {
	if p.err == nil {
		p.err = Rejected(name, p.given[name], reason)
	}
}

// Rejected is an error for a value that is well-formed but does not fit, where it shows after Read.
func Rejected(name string, value any, reason string) error {
	return fmt.Errorf("parameter %s cannot be %s: %s", name, Encode(fmt.Sprint(value)), reason)
}

func (p *Parameters) ask(name, value, meaning string) (string, bool) {
	p.asked = append(p.asked, Parameter{name, value, meaning})
	text, given := p.given[name]
	return text, given
}

// One key=value per line.
func assignments(config string) (map[string]string, error) {
	given := map[string]string{}
	for line := range strings.Lines(config) {
		line = strings.TrimSuffix(line, "\n")
		key, value, found := strings.Cut(line, "=")
		if !found {
			return nil, fmt.Errorf("configuration line %s is not key=value", Encode(line))
		}
		if _, twice := given[key]; twice {
			return nil, fmt.Errorf("parameter %s is given twice", key)
		}
		given[key] = value
	}
	return given, nil
}
